package import FanfareCore
package import FanfareProviders
internal import Foundation

extension CompiledRule {
    /// Returns the values that templates can name for an example event; for a rule with a digest, those of a digest of
    /// this event alone.
    ///
    /// If the rule says `report: true`, they have a handle of the right length. What the app's policy says is not known
    /// here.
    ///
    /// - Parameters:
    ///   - payload: the event's payload.
    ///   - key: the event's idempotency key; nil if it has none.
    ///   - now: the time of the event, in seconds since 1970.
    /// - Returns: the values.
    package func exampleContext(_ payload: JSONObject, key: String? = nil, now: Int64) -> RenderContext {
        var context = RenderContext(
            eventID: EventID(rawValue: 1),
            eventType: definition.digest == nil ? definition.event : DigestDefinition.eventType(of: definition),
            eventKey: definition.digest == nil ? key : nil,
            payload: definition.digest == nil ? payload : DigestDefinition.payload(ofOne: payload, at: now),
            expiration: definition.ttl.map { now + $0.seconds },
            now: now,
            time: now
        )
        if definition.reports.isOn == true { context.report = String(repeating: "A", count: ReportKey.handleLength) }
        return context
    }
}

extension DigestDefinition {
    /// Returns the payload of a digest of one event, as `fanfare.emit_digests` makes it.
    fileprivate static func payload(ofOne payload: JSONObject, at seconds: Int64) -> JSONObject {
        var made = payload
        made["events"] = [.object(payload)]
        made["count"] = 1
        made["since"] = .string(Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format())
        return made
    }
}
