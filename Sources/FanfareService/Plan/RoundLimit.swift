internal import FanfareCore

/// How many events a round takes: as many as keep it short, and few where a set failed.
///
/// What a round costs is not known before, since its events may have many rules, or audiences to walk; and while it lasts
/// nothing else is planned.
struct RoundLimit: Equatable {
    /// How much less is tried after a set failed, where that is soon known: rounds of less are dearer by the event.
    private static let division = 10
    /// And where each attempt takes all the time there is.
    private static let slowDivision = 32
    private static let growth = 4

    /// How many events the next round takes.
    private(set) var count: Int
    /// How many events the one at fault is among.
    private var suspects = 0
    private let most: Int
    private let target: Microseconds

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - count: what to begin with.
    ///   - most: what is never exceeded.
    ///   - target: what a round is to cost at most.
    init(_ count: Int, most: Int, target: Microseconds) {
        self.count = min(count, most)
        self.most = most
        self.target = target
    }

    /// A round was committed.
    ///
    /// - Parameters:
    ///   - taken: how many events it had.
    ///   - cost: how long it took.
    mutating func planned(_ taken: Int, in cost: Microseconds) {
        guard taken > 0 else { return }
        suspects = max(0, suspects - taken)
        let affordable = max(1, Int(clamping: Int64(taken) * target / max(1, cost)))
        if cost > target {
            count = min(count, affordable)
        } else if suspects == 0 {
            // Of a round that was not full nothing is known but that it was short.
            let grown = min(most, count * Self.growth)
            count = taken < count ? grown : min(grown, max(count, affordable))
        }
    }

    /// A round failed for what it had taken.
    ///
    /// - Parameters:
    ///   - taken: how many events it had at most.
    ///   - tookTooLong: whether it failed for the time it took.
    mutating func failed(_ taken: Int, tookTooLong: Bool) {
        suspects = min(count, taken)
        count = max(1, suspects / (tookTooLong ? Self.slowDivision : Self.division))
    }

    /// What made rounds fail is out of the way.
    mutating func recovered() {
        suspects = 0
        count = most / Self.growth
    }
}
