internal import FanfareCore

/// The number of events that a round takes: as many as keep it short, and few after a set failed.
///
/// The cost of a round is not known in advance, since its events may have many rules or audiences to expand. Nothing
/// else is planned while it lasts.
struct RoundLimit: Equatable {
    /// The divisor after a set failed quickly; smaller rounds cost more per event.
    private static let division = 10
    /// The divisor after a set failed by a timeout, because each further attempt may take that long again.
    private static let slowDivision = 32
    private static let growth = 4

    /// The number of events that the next round takes.
    private(set) var count: Int
    /// The number of events among which the failing one is.
    private var suspects = 0
    private let most: Int
    private let target: Microseconds

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - count: the initial number of events.
    ///   - most: the highest number.
    ///   - target: the desired maximum duration of a round.
    init(_ count: Int, most: Int, target: Microseconds) {
        self.count = min(count, most)
        self.most = most
        self.target = target
    }

    /// Records a committed round.
    ///
    /// - Parameters:
    ///   - taken: the number of its events.
    ///   - cost: its duration.
    mutating func planned(_ taken: Int, in cost: Microseconds) {
        guard taken > 0 else { return }
        suspects = max(0, suspects - taken)
        let affordable = max(1, Int(clamping: Int64(taken) * target / max(1, cost)))
        if cost > target {
            count = min(count, affordable)
        } else if suspects == 0 {
            // A round that was not full shows only that it was short, not what a full one costs.
            let grown = min(most, count * Self.growth)
            count = taken < count ? grown : min(grown, max(count, affordable))
        }
    }

    /// Records a round that failed because of its events.
    ///
    /// - Parameters:
    ///   - taken: the highest number of events that it had.
    ///   - tookTooLong: whether it failed by a timeout.
    mutating func failed(_ taken: Int, tookTooLong: Bool) {
        suspects = min(count, taken)
        count = max(1, suspects / (tookTooLong ? Self.slowDivision : Self.division))
    }

    /// Records that the cause of the failures is removed.
    mutating func recovered() {
        suspects = 0
        count = most / Self.growth
    }
}
