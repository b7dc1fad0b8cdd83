public import FanfareCore
public import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// What happened to an event for one user.
public struct WhyReport: Sendable {
    /// The user's id.
    public let user: String
    /// The result.
    public let verdict: WhyVerdict
    /// Each step, in the order of time.
    public let rows: [WhyRow]

    /// The report as JSON.
    public var json: JSONValue {
        [
            "event_id": JSONValue(id: verdict.eventID),
            "event_type": JSONValue(orNull: verdict.eventType),
            "user_id": .string(user), "verdict": verdict.json, "steps": .array(rows.map(\.json)),
        ]
    }
}

extension WhyRow {
    fileprivate var json: JSONValue {
        [
            "at": JSONValue(at), "rule": JSONValue(orNull: rule), "device_id": JSONValue(id: deviceID),
            "provider": JSONValue(orNull: provider), "attempt": attempt.map { JSONValue(Int64($0)) } ?? .null,
            "outcome": .string(outcome), "reason": JSONValue(orNull: reason),
            "until": until.map { JSONValue($0) } ?? .null, "detail": JSONValue(orNull: detail),
        ]
    }
}

extension WhyVerdict {
    /// The verdict as JSON.
    public var json: JSONValue {
        [
            "event_id": JSONValue(id: eventID), "event_type": JSONValue(orNull: eventType),
            "at": JSONValue(at),
            "rule": JSONValue(orNull: rule), "outcome": .string(outcome), "reason": JSONValue(orNull: reason),
            "until": until.map { JSONValue($0) } ?? .null, "detail": JSONValue(orNull: detail),
        ]
    }

    /// Whether the event or the user does not exist.
    public var isAbsence: Bool { ["no_event", "no_user"].contains(reason) && eventType == nil }
}
