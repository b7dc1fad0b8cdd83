internal import FanfareConfiguration
public import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareService
package import PostgresClient

/// One line of `fanfare tail`: the fate of an event, the outcome of one attempt for one delivery, or a campaign's
/// progress.
public struct TailLine: Sendable {
    /// The outcome of one attempt.
    package struct Push: Sendable {
        package let rule: String
        package let app: String
        package let provider: String
        package let environment: String
        package let deviceID: Int64
        package let userID: String?
        package let attempt: Int64
        package let outcome: String
        package let reason: String
        /// The provider's reason for a refusal.
        package let detail: String?
        package let batchID: Int64
    }

    /// The subject of a line.
    package enum Subject: Sendable {
        case event(fate: String, key: String?, detail: String?)
        case push(Push)
        case campaign(CampaignProgress)
    }

    package let at: Timestamp
    /// The event's id; nil for a campaign run without an event.
    package let eventID: Int64?
    package let eventType: String
    /// When the event was emitted; nil if its log row is gone.
    package let emittedAt: Timestamp?
    /// The id of the event's trace, if any.
    package var traceID: String? = nil
    package let subject: Subject

    /// The milliseconds between emit and the line.
    package var lagMilliseconds: Int64? {
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
}
