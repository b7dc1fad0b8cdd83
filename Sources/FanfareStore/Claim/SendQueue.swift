package import FanfareCore

/// One of the queues of a target's batches: a lane's first attempts, or its retries.
///
/// Retries wait for their budget (``RetryBudget``). In one queue with first attempts, they would delay those. Behind
/// all batches that were planned earlier, they would find the share of the budget used up that a broadcast's responses
/// provide.
package struct SendQueue: Hashable, Sendable, CaseIterable {
    package let lane: Lane
    package let isRetry: Bool

    package init(lane: Lane, isRetry: Bool) {
        self.lane = lane
        self.isRetry = isRetry
    }

    /// Decodes the number that a statement returns for a batch: twice its lane, plus one for retries.
    ///
    /// It is one column and not two, since a claim that finds nothing still pays for its columns.
    init(number: Int16) {
        self.init(lane: Lane(rawValue: number >> 1) ?? .normal, isRetry: number & 1 == 1)
    }

    package static let allCases = Lane.allCases.flatMap {
        [SendQueue(lane: $0, isRetry: false), SendQueue(lane: $0, isRetry: true)]
    }
}
