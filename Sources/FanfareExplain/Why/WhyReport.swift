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

    /// The report as text for people: the result, then a line for each step.
    public var text: String {
        var table = TextTable(["at", "what", "outcome", "reason", "until", "detail"])
        for row in rows {
            table.append([
                row.at.rfc3339, row.subject, row.outcome, row.reason ?? "-", row.until?.rfc3339 ?? "-",
                row.detail ?? "",
            ])
        }
        return [TextTable.printable("\(verdict.head) for \(user): \(verdict.words)"), table.text].joined(
            separator: "\n\n"
        )
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

    /// The subject of the row.
    fileprivate var subject: String {
        let device = deviceID.map { id in id == 0 ? provider ?? "" : "\(provider ?? "") device \(id)" }
        let parts = [rule, device, attempt.map { "attempt \($0)" }].compactMap(\.self)
        return parts.isEmpty ? "event" : parts.joined(separator: ", ")
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

    /// The event of the verdict.
    fileprivate var head: String {
        ([eventID.map { "event \($0)" }, eventType].compactMap(\.self)).joined(separator: " ")
    }

    /// The outcome, the reason if it says more, and its meaning.
    fileprivate var words: String {
        let reason = reason.flatMap { $0 == outcome ? nil : " (\($0))" } ?? ""
        let until = until.map { " until \($0.rfc3339)" } ?? ""
        return "\(outcome)\(reason)\(until)" + (rule.map { ", \($0)" } ?? "") + (detail.map { ": \($0)" } ?? "")
    }

    /// Formats the events of a user for people, a line each.
    ///
    /// - Parameter verdicts: the events' results; or one row about the user.
    /// - Returns: the text.
    public static func text(_ verdicts: [WhyVerdict]) -> String {
        verdicts.map { verdict in
            let words = verdict.eventID == nil ? verdict.detail ?? verdict.words : "\(verdict.head)  \(verdict.words)"
            return TextTable.printable("\(verdict.at.rfc3339)  \(words)")
        }.joined(separator: "\n")
    }

    /// Whether the event or the user does not exist.
    public var isAbsence: Bool { ["no_event", "no_user"].contains(reason) && eventType == nil }
}
