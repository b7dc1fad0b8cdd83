/// Words for how far an import is, now and then.
public struct ImportProgress {
    private let pause: Duration
    private let started: ContinuousClock.Instant
    private var told: ContinuousClock.Instant
    /// How many rows tries before this one had read.
    private var before: Int64?

    /// Has told nothing yet.
    ///
    /// - Parameters:
    ///   - pause: how long it is silent after each time.
    ///   - now: the time.
    public init(every pause: Duration, now: ContinuousClock.Instant = .now) {
        (self.pause, started, told) = (pause, now, now)
    }

    /// What to tell now.
    ///
    /// - Parameters:
    ///   - tally: what became of the rows so far.
    ///   - share: how much of the file that is, from 0 to 1; nil if that is not known.
    ///   - now: the time.
    /// - Returns: a line without its end; nil for nothing.
    public mutating func line(_ tally: ImportTally, share: Double?, now: ContinuousClock.Instant = .now) -> String? {
        let before = before ?? 0
        guard now - told >= pause else { return nil }
        told = now
        let rate = Double(tally.read - before) / max(0.001, (now - started) / .seconds(1))
        var parts = ["\(tally.read) rows", "\(Int64(rate)) a second", "\(tally.refusedCount) refused"]
        if let share { parts.insert("\(Int(share * 100)) %", at: 1) }
        return parts.joined(separator: ", ")
    }

    /// Rows that were read before do not count for how fast it goes.
    ///
    /// - Parameter rows: how many.
    public mutating func resume(after rows: Int64) { before = rows }
}
