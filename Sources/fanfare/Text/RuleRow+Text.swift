import FanfareRecords

extension RuleRow: Tabular {
    /// Formats rules as a table.
    ///
    /// - Parameter rules: the rows.
    /// - Returns: the table.
    static func table(_ rules: [RuleRow]) -> String {
        var table = TextTable(["app", "name", "event", "version", "in force", "state", "reason"])
        for rule in rules {
            table.append([
                rule.app, rule.name, rule.event, "\(rule.version)", rule.versionInForce.map { "\($0)" } ?? "-",
                rule.state,
                rule.reason ?? "-",
            ])
        }
        return table.text
    }
}
