import Foundation

/// The lines of a table in a file beside the tests, with ` | ` between columns.
///
/// `next-times.txt` has a zone, a cron expression, a time and the three times that follow it; `instants.txt` has a
/// zone, a wall time and its instant. Both were generated once, around clock changes in past years, so that no new
/// edition of the zone data changes them. Moldova is omitted, because an edition changed its past years. The results
/// come from Python's reading of the system's zone data: `zoneinfo` (3.11, tzdata 2025b), with `fold=0` for a wall time
/// that is missing or occurs twice, and both occurrences for expressions that go by elapsed time. The minutes that
/// match an expression were found by a scan of all minutes, with code that shares nothing with Fanfare's; away from
/// clock changes `croniter` 7.0.0 (with `implement_cron_bug`) agreed in 1,440 of 1,440 times. Its rules for clock
/// changes differ, and are not in the table.
enum TimeTable {
    /// Reads a table.
    ///
    /// - Parameter name: the file's name, without the extension.
    /// - Returns: the columns of each line.
    /// - Throws: an error if the file cannot be read.
    static func rows(_ name: String) throws -> [[String]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Tables/\(name).txt")
        return try String(contentsOf: file, encoding: .utf8)
            .split(separator: "\n").map { $0.components(separatedBy: " | ") }
    }
}
