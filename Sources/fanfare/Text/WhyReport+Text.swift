import FanfareExplain
import FanfareRecords
import FanfareTools
import PostgresClient

extension WhyReport {
    /// The report as text for people: the result, then a line for each step.
    var text: String {
        var table = TextTable(["at", "what", "outcome", "reason", "until", "detail"])
        for row in rows {
            table.append([
                row.at.rfc3339, row.subject, row.outcome, row.reason ?? "-", row.until?.rfc3339 ?? "-",
                row.detail ?? "",
            ])
        }
        return ["\(verdict.head) for \(user): \(verdict.words)".printable, table.text].joined(
            separator: "\n\n"
        )
    }
}

extension WhyRow {
    /// The subject of the row.
    fileprivate var subject: String {
        let device = deviceID.map { id in id == 0 ? provider ?? "" : "\(provider ?? "") device \(id)" }
        let parts = [rule, device, attempt.map { "attempt \($0)" }].compactMap(\.self)
        return parts.isEmpty ? "event" : parts.joined(separator: ", ")
    }
}

extension WhyVerdict {
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
    static func text(_ verdicts: [WhyVerdict]) -> String {
        verdicts.map { verdict in
            let words = verdict.eventID == nil ? verdict.detail ?? verdict.words : "\(verdict.head)  \(verdict.words)"
            return "\(verdict.at.rfc3339)  \(words)".printable
        }.joined(separator: "\n")
    }
}
