import FanfareCore
import FanfareRecords
import FanfareTools
import PostgresClient

extension FeedbackState {
    /// Formats hooks as a table for people.
    ///
    /// - Parameter hooks: any number.
    /// - Returns: the table.
    static func table(_ hooks: [FeedbackState]) -> String {
        guard !hooks.isEmpty else { return "no hook: `feedback` of the configuration names them" }
        var table = TextTable(["hook", "state", "app", "outcomes", "waiting", "lag", "told", "lost", "error"])
        for row in hooks.map(\.row) {
            table.append([
                row.name, row.state, row.app ?? "all", row.outcomes.joined(separator: ","),
                "\(row.waiting)\(row.isMore ? "+" : "")", "\(TimeSpan(seconds: Int64(row.lagSeconds)))",
                row.toldAt?.rfc3339 ?? "never", "\(row.lost)",
                row.error ?? "-",
            ])
        }
        return table.text
    }
}
