/// The callers that wait for a session, in the order in which they came.
///
/// Who leaves out of turn leaves a gap, so that leaving costs nothing; gaps are cleared when they are many.
struct PoolWaitingLine: Sendable {
    private var order: ArraySlice<PoolStateMachine.RequestID> = []
    private var deadlines: [PoolStateMachine.RequestID: ContinuousClock.Instant?] = [:]

    /// How many wait.
    var count: Int { deadlines.count }

    /// Whether nobody waits.
    var isEmpty: Bool { deadlines.isEmpty }

    /// The earliest moment at which one of them stops waiting; looks at each.
    var earliestDeadline: ContinuousClock.Instant? { deadlines.values.lazy.compactMap(\.self).min() }

    /// Puts a caller in its place: behind all that came before it, also where it had left the line and is back.
    ///
    /// - Parameters:
    ///   - request: the caller; ids rise in the order of coming.
    ///   - deadline: when it stops waiting; nil for never.
    mutating func insert(_ request: PoolStateMachine.RequestID, until deadline: ContinuousClock.Instant?) {
        deadlines[request] = .some(deadline)
        if let last = order.last, request < last {
            order.insert(request, at: order.firstIndex { request < $0 } ?? order.endIndex)
        } else {
            order.append(request)
        }
    }

    /// Takes out whoever has waited longest.
    ///
    /// - Returns: the caller and when it would have stopped waiting; nil if nobody waits.
    mutating func removeFirst() -> (request: PoolStateMachine.RequestID, deadline: ContinuousClock.Instant?)? {
        while let request = order.popFirst() {
            if let deadline = deadlines.removeValue(forKey: request) { return (request, deadline) }
        }
        return nil
    }

    /// Takes a caller out, wherever it stands.
    ///
    /// - Parameter request: the caller.
    /// - Returns: whether it stood in line.
    mutating func remove(_ request: PoolStateMachine.RequestID) -> Bool {
        guard deadlines.removeValue(forKey: request) != nil else { return false }
        if order.count > 2 * deadlines.count + 32 { order = order.filter { deadlines[$0] != nil }[...] }
        return true
    }

    /// Takes out all whose deadline has come.
    ///
    /// - Parameter now: the time.
    /// - Returns: the callers, in order.
    mutating func removeExpired(at now: ContinuousClock.Instant) -> [PoolStateMachine.RequestID] {
        let expired = deadlines.filter { $0.value.map { $0 <= now } ?? false }.keys.sorted()
        return expired.filter { remove($0) }
    }

    /// Takes out everybody.
    ///
    /// - Returns: the callers, in order.
    mutating func removeAll() -> [PoolStateMachine.RequestID] {
        defer { self = Self() }
        return deadlines.keys.sorted()
    }
}
