import FanfareRecords
import Foundation

extension LiftRow {
    /// Formats a comparison as a table.
    ///
    /// - Parameter rows: the rows of one event or rule.
    /// - Returns: the table with a note.
    static func table(_ rows: [LiftRow]) -> String {
        guard !rows.isEmpty else { return "no recipients, or the log is deleted" }
        var table = TextTable(["rule", "variant", "people", "opened", "converted", "lift", "interval"])
        for row in rows {
            table.append([
                row.rule, row.variant ?? "-", "\(row.people)", "\(row.opened) of \(row.people - row.notReporting)",
                row.converted.map { "\($0) (\(points(row.rate ?? 0, "%")))" } ?? "-",
                row.lift.map { points($0, "") } ?? "-",
                row.low.flatMap { low in row.high.map { "\(points(low, "")) to \(points($0, ""))" } } ?? "-",
            ])
        }
        let silent = rows.reduce(0) { $0 + $1.notReporting }
        return """
            \(table.text)
            \(silent) people have no device that reports receipts; `opened` leaves them out. The lift is in percentage points against the \
            holdout, with its interval of 95%.
            """
    }

    /// A share in percent or percentage points, such as `5.31%`.
    private static func points(_ share: Double, _ unit: String) -> String {
        String(format: "%.2f", share * 100) + unit
    }
}
