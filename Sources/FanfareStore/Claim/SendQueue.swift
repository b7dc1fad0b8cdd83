package import FanfareCore

/// One of the queues in which a target's batches wait: a lane's first attempts, or its retries.
///
/// Retries wait for their budget (``RetryBudget``). In one queue with first attempts they would hold those up; and behind all
/// that was planned before them they would find the share used up that a broadcast's answers give them.
package struct SendQueue: Hashable, Sendable, CaseIterable {
    package let lane: Lane
    package let isRetry: Bool

    package init(lane: Lane, isRetry: Bool) {
        self.lane = lane
        self.isRetry = isRetry
    }

    /// Takes apart what a statement returns of a batch: twice its lane, and one more for retries.
    ///
    /// One column, not two, since a claim that finds nothing pays for its columns all the same.
    init(number: Int16) {
        self.init(lane: Lane(rawValue: number >> 1) ?? .normal, isRetry: number & 1 == 1)
    }

    package static let allCases = Lane.allCases.flatMap {
        [SendQueue(lane: $0, isRetry: false), SendQueue(lane: $0, isRetry: true)]
    }
}
