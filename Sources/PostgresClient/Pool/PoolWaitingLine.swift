/// The callers that wait for a session, in the order of arrival.
///
/// A caller that leaves out of turn leaves a gap, which makes leaving cheap; gaps are removed once they are many.
struct PoolWaitingLine: Sendable {
    private var order: ArraySlice<PoolStateMachine.RequestID> = []
    private var deadlines: [PoolStateMachine.RequestID: ContinuousClock.Instant?] = [:]

    /// The number of waiting callers.
    var count: Int { deadlines.count }

    /// Whether no caller waits.
    var isEmpty: Bool { deadlines.isEmpty }

    /// The earliest deadline of a waiting caller; scans all of them.
    var earliestDeadline: ContinuousClock.Instant? { deadlines.values.lazy.compactMap(\.self).min() }

    /// Inserts a caller behind all earlier ones, also if it left the queue and returns.
    ///
    /// - Parameters:
    ///   - request: the caller; ids rise in the order of arrival.
    ///   - deadline: when it stops waiting; nil for never.
    mutating func insert(_ request: PoolStateMachine.RequestID, until deadline: ContinuousClock.Instant?) {
        deadlines[request] = .some(deadline)
        if let last = order.last, request < last {
            order.insert(request, at: order.firstIndex { request < $0 } ?? order.endIndex)
        } else {
            order.append(request)
        }
    }

    /// Removes the caller that has waited longest.
    ///
    /// - Returns: the caller and its deadline; nil if the queue is empty.
    mutating func removeFirst() -> (request: PoolStateMachine.RequestID, deadline: ContinuousClock.Instant?)? {
        while let request = order.popFirst() {
            if let deadline = deadlines.removeValue(forKey: request) { return (request, deadline) }
        }
        return nil
    }

    /// Removes a caller at any position.
    ///
    /// - Parameter request: the caller.
    /// - Returns: whether it was in the queue.
    mutating func remove(_ request: PoolStateMachine.RequestID) -> Bool {
        guard deadlines.removeValue(forKey: request) != nil else { return false }
        if order.count > 2 * deadlines.count + 32 { order = order.filter { deadlines[$0] != nil }[...] }
        return true
    }

    /// Removes all callers whose deadline has passed.
    ///
    /// - Parameter now: the time.
    /// - Returns: the callers, in order.
    mutating func removeExpired(at now: ContinuousClock.Instant) -> [PoolStateMachine.RequestID] {
        let expired = deadlines.filter { $0.value.map { $0 <= now } ?? false }.keys.sorted()
        return expired.filter { remove($0) }
    }

    /// Removes all callers.
    ///
    /// - Returns: the callers, in order.
    mutating func removeAll() -> [PoolStateMachine.RequestID] {
        defer { self = Self() }
        return deadlines.keys.sorted()
    }
}
