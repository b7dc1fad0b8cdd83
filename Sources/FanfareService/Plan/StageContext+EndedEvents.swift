internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging

extension StageContext {
    /// Logs one line for each event without deliveries, as far as ``FrequentLines`` admits it.
    func log(_ events: [EndedEvent]) {
        for event in events {
            guard let fate = Int16(exactly: event.fate).flatMap(EventFate.init(rawValue:)) else { continue }
            let level: Logger.Level = fate == .refused ? .warning : .info
            let message: Logger.Message = "nothing is sent of an event"
            let kind = LineKind(
                level: level,
                message: message.description,
                app: "",
                provider: "",
                rule: event.type,
                reason: fate.name
            )
            guard logger.logLevel <= level, frequentLines.admit(kind) else { continue }
            var metadata = Logger.Metadata([
                .eventID: "\(event.eventID)", .eventType: "\(event.type)", .eventFate: "\(fate.name)",
            ])
            if let detail = event.detail { metadata[.detail] = "\(detail)" }
            logger.log(level: level, message, metadata: metadata)
        }
    }
}
