import Foundation

/// The range of seeds to test.
enum SeedRange {
    /// Returns the seeds of one part of a test.
    ///
    /// - Parameters:
    ///   - part: the part's number: 0, 1, 2 …
    ///   - share: the number of seeds in a part.
    /// - Returns: the seeds; if `FANFARE_SEED` is set, it alone, in the first part.
    static func of(_ part: UInt64, share: UInt64) -> ClosedRange<UInt64> {
        if let only = ProcessInfo.processInfo.environment["FANFARE_SEED"].flatMap({ UInt64($0) }) {
            return part == 0 ? only...only : only + 1...only + 1
        }
        return part * share + 1...(part + 1) * share
    }
}
