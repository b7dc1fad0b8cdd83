import FanfareMoving

extension ImportTally {
    /// The tally as a table, with the reasons, the most frequent first.
    var text: String {
        var table = TextTable(["rows", "number"])
        func append(_ name: String, _ count: Int64, _ reasons: [String: Int64] = [:]) {
            table.append([name, "\(count)"])
            let sorted = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            for (reason, count) in sorted { table.append(["  \(reason)", "\(count)"]) }
        }
        append("read", read)
        append("new", new)
        append("updated", updated)
        append("unchanged", unchanged)
        append("skipped", skippedCount, skipped)
        append("refused", refusedCount, refused)
        if !without.isEmpty { append("registered without", without.values.reduce(0, +), without) }
        return table.text
    }
}
