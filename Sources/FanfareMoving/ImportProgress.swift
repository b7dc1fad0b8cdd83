/// Formats the progress of an import at intervals.
public struct ImportProgress {
    private let pause: Duration
    private let started: ContinuousClock.Instant
    private var told: ContinuousClock.Instant
    /// The number of rows read by earlier tries.
    private var before: Int64?

    /// Makes a progress reporter that has reported nothing yet.
    ///
    /// - Parameters:
    ///   - pause: the minimum interval between two lines.
    ///   - now: the current time.
    public init(every pause: Duration, now: ContinuousClock.Instant = .now) {
        (self.pause, started, told) = (pause, now, now)
    }

    /// Returns the line to show now.
    ///
    /// - Parameters:
    ///   - tally: the tally so far.
    ///   - share: the part of the file read, from 0 to 1; nil if unknown.
    ///   - now: the current time.
    /// - Returns: a line without a line end; nil if none is due.
    public mutating func line(_ tally: ImportTally, share: Double?, now: ContinuousClock.Instant = .now) -> String? {
        let before = before ?? 0
        guard now - told >= pause else { return nil }
        told = now
        let rate = Double(tally.read - before) / max(0.001, (now - started) / .seconds(1))
        var parts = ["\(tally.read) rows", "\(Int64(rate)) a second", "\(tally.refusedCount) refused"]
        if let share { parts.insert("\(Int(share * 100)) %", at: 1) }
        return parts.joined(separator: ", ")
    }

    /// Excludes rows of earlier tries from the speed.
    ///
    /// - Parameter rows: the number of those rows.
    public mutating func resume(after rows: Int64) { before = rows }
}
