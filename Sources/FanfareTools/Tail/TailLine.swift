internal import FanfareConfiguration
public import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareService
internal import PostgresClient

/// One line of `fanfare tail`: the fate of an event, the outcome of one attempt for one delivery, or a campaign's
/// progress.
public struct TailLine: Sendable {
    /// The outcome of one attempt.
    struct Push: Sendable {
        let rule: String
        let app: String
        let provider: String
        let environment: String
        let deviceID: Int64
        let userID: String?
        let attempt: Int64
        let outcome: String
        let reason: String
        /// The provider's reason for a refusal.
        let detail: String?
        let batchID: Int64
    }

    /// The subject of a line.
    enum Subject: Sendable {
        case event(fate: String, key: String?, detail: String?)
        case push(Push)
        case campaign(CampaignProgress)
    }

    let at: Timestamp
    /// The event's id; nil for a campaign run without an event.
    let eventID: Int64?
    let eventType: String
    /// When the event was emitted; nil if its log row is gone.
    let emittedAt: Timestamp?
    /// The id of the event's trace, if any.
    var traceID: String? = nil
    let subject: Subject

    private var lagMilliseconds: Int64? {
        emittedAt.map { (at.microseconds - $0.microseconds) / 1000 }
    }

    /// The line as JSON, with the keys of log lines.
    public var json: JSONValue {
        var object = JSONObject()
        object["at"] = JSONValue(at)
        object[LogKey.eventID.rawValue] = eventID.map { JSONValue($0) }
        object[LogKey.eventType.rawValue] = .string(eventType)
        object[LogKey.traceID.rawValue] = traceID.map(JSONValue.string)
        switch subject {
        case .event(let fate, let key, let detail):
            object[LogKey.eventFate.rawValue] = .string(fate)
            object["event.key"] = key.map(JSONValue.string)
            object["detail"] = detail.map(JSONValue.string)
        case .push(let push):
            object[LogKey.ruleName.rawValue] = .string(push.rule)
            object[LogKey.app.rawValue] = .string(push.app)
            object[LogKey.provider.rawValue] = .string(push.provider)
            object[LogKey.environment.rawValue] = .string(push.environment)
            object[LogKey.deviceID.rawValue] = JSONValue(push.deviceID)
            object["user.id"] = push.userID.map(JSONValue.string)
            object[LogKey.attempt.rawValue] = JSONValue(push.attempt)
            object[LogKey.outcome.rawValue] = .string(push.outcome)
            object[LogKey.reason.rawValue] = .string(push.reason)
            object["detail"] = push.detail.map(JSONValue.string)
            object[LogKey.batchID.rawValue] = JSONValue(push.batchID)
        case .campaign(let progress):
            let told = progress.json
            object[LogKey.campaignName.rawValue] = told["campaign"]
            for key in Self.campaignKeys { object[key] = told[key] }
        }
        object[LogKey.lagMilliseconds.rawValue] = lagMilliseconds.map { JSONValue($0) }
        return .object(object)
    }

    private static let campaignKeys = [
        "app", "run_id", "state", "hold", "is_planning", "planned", "ended", "left", "accepted", "failed",
        "per_second", "pace", "ends_at",
    ]

    /// The line for people.
    ///
    /// - Parameter colour: whether to colour the line for a terminal.
    /// - Returns: one line.
    public func text(colour: Bool) -> String {
        let time = String(at.rfc3339.dropFirst(11).prefix(12))
        let lag = lagMilliseconds.map { "\($0) ms" } ?? ""
        let event = eventID.map { "\($0)" } ?? ""
        var cells: [String]
        let word: String
        switch subject {
        case .event(let fate, let key, let detail):
            word = fate
            let trace = traceID.map { "trace \($0)" }
            cells = ["event", eventType, event, key.map { "key \($0)" }, detail, trace].compactMap { $0 }
        case .push(let push):
            word = push.outcome
            let user = push.userID.map { "user \($0) · " } ?? ""
            cells = [
                "push", eventType, event, "\(push.app)/\(push.rule)",
                "\(user)\(push.provider) device \(push.deviceID)",
            ]
            if push.reason != push.outcome { cells.append(push.reason) }
            if let detail = push.detail { cells.append(detail) }
            if push.attempt > 1 { cells.append("attempt \(push.attempt)") }
        case .campaign(let progress):
            word = progress.state
            cells = ["campaign", eventType, event, progress.details]
        }
        cells = ([time] + cells + [lag]).filter { !$0.isEmpty }.map(TextTable.printable)
        cells.insert(colour ? Self.coloured(word) : word, at: 2)
        return cells.joined(separator: "  ")
    }

    /// Colours a word: green for success, yellow for waiting, red for a problem, dim for the rest.
    private static func coloured(_ word: String) -> String {
        let code =
            switch word {
            case "accepted", "planned", "running", "done": "32"
            case "retrying", "waiting", "attempted", "pending", "aborting": "33"
            case "gone", "rejected", "refused", "exhausted", "unknown", "failed", "aborted": "31"
            default: "2"
            }
        return "\u{1B}[\(code)m\(word)\u{1B}[0m"
    }
}
