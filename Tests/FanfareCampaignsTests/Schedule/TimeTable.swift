import Foundation

/// Lines of a table that lies beside the tests, with ` | ` between their columns.
///
/// `next-times.txt` has a zone, a cron expression, a time and the three that follow it; `instants.txt` a zone, a wall
/// time and when it is. Both were made once, around the changes of clocks in years that are past, so that no new
/// edition of the zone data alters them. Moldova is left out, because an edition altered its past years. Their results
/// are Python's reading of the system's zone data: `zoneinfo` (3.11, tzdata 2025b), with `fold=0` for a wall time that
/// is missing or shown twice, and both showings for expressions that go by elapsed time. Which minutes an expression
/// names was found by walking over all of them, by code that shares nothing with ours; away from changes of clocks
/// `croniter` 7.0.0 (with `implement_cron_bug`) agreed in 1,440 of 1,440 times. Its rules for changes are its own, and
/// not in here.
enum TimeTable {
    /// Reads a table.
    ///
    /// - Parameter name: its file's name, without the extension.
    /// - Returns: the columns of each line.
    /// - Throws: why it cannot be read.
    static func rows(_ name: String) throws -> [[String]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Tables/\(name).txt")
        return try String(contentsOf: file, encoding: .utf8)
            .split(separator: "\n").map { $0.components(separatedBy: " | ") }
    }
}
