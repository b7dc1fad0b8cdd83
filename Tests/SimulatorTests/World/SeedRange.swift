import Foundation

/// Which seeds are tried.
enum SeedRange {
    /// The seeds of one part of a test.
    ///
    /// - Parameters:
    ///   - part: 0, 1, 2 …
    ///   - share: seeds in a part.
    /// - Returns: their numbers; `FANFARE_SEED` alone, in the first part, where that is set.
    static func of(_ part: UInt64, share: UInt64) -> ClosedRange<UInt64> {
        if let only = ProcessInfo.processInfo.environment["FANFARE_SEED"].flatMap({ UInt64($0) }) {
            return part == 0 ? only...only : only + 1...only + 1
        }
        return part * share + 1...(part + 1) * share
    }
}
