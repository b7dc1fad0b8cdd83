package import FanfareCore

/// The outcomes of one provider: its rows of table `outcome_codes`.
package struct OutcomeBlock: Sendable {
    /// The codes reserved for the provider.
    package let codes: [ClosedRange<UInt8>]
    /// The codes in use.
    package let rows: [OutcomeRow]

    /// Returns the outcome of a push that was rejected for a reason, and whose device is kept.
    package func rejection(_ reason: String) -> Outcome? {
        rows.first { $0.outcome.kind == .rejected && $0.reason == reason }?.outcome
    }

    /// The outcomes as a Markdown table, for the documentation.
    package var reference: String {
        (["| code | outcome | reason | meaning |", "|---|---|---|---|"]
            + rows.sorted { $0.outcome.rawValue < $1.outcome.rawValue }.map {
                "| \($0.outcome.rawValue) | `\($0.outcome.outcome)` | `\($0.reason)` | \($0.meaning) |"
            }).joined(separator: "\n")
    }
}

/// All outcomes known to this version, by code.
private let table: [(row: OutcomeRow, provider: PushProvider?, keptAs: Outcome?)?] = {
    var table: [(row: OutcomeRow, provider: PushProvider?, keptAs: Outcome?)?] = Array(repeating: nil, count: 256)
    for row in OutcomeRow.shared { table[Int(row.outcome.rawValue)] = (row, nil, nil) }
    for provider in Providers.all {
        let block = provider.outcomes
        for row in block.rows {
            table[Int(row.outcome.rawValue)] = (row, provider.name, block.rejection(row.reason))
        }
    }
    return table
}()

extension Outcome {
    /// All outcomes in the order of their codes: the rows of table `outcome_codes`.
    package static let all: [Outcome] = table.compactMap { $0?.row.outcome }

    /// The reason: the provider's own if it gave one, otherwise words in snake_case.
    package var reason: String { table[Int(rawValue)]?.row.reason ?? "code_\(rawValue)" }

    /// The meaning, in one line for people; empty for an outcome of a newer version.
    package var meaning: String { table[Int(rawValue)]?.row.meaning ?? "" }

    /// The provider of the reason; nil for Fanfare's own outcomes and for retries, whose reasons all providers share.
    package var provider: PushProvider? { table[Int(rawValue)]?.provider }

    /// The outcome to record instead of a ``OutcomeKind/gone`` while the device must be kept, as when the prune fuse is
    /// blown: the rejection with the same reason.
    ///
    /// Every other outcome is returned unchanged.
    package var keepingDevice: Outcome { table[Int(rawValue)]?.keptAs ?? self }

    /// The rows of `outcome_codes(code, outcome, reason, provider, meaning)` as the text after `VALUES` in `schema.sql`.
    ///
    /// One row per line, indented by four spaces, without a final line break; `ReferenceTests` compares.
    package static var sqlValues: String {
        all.map { outcome in
            let provider = outcome.provider.map { "'\($0.rawValue)'" } ?? "NULL"
            let meaning = outcome.meaning.replacing("'", with: "''")
            return "    (\(outcome.rawValue), '\(outcome.outcome)', '\(outcome.reason)', \(provider), '\(meaning)')"
        }
        .joined(separator: ",\n")
    }
}
