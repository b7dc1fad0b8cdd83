package import FanfareCore
internal import Threading

/// Who shares a half of W: one app's use of one provider.
package struct ProviderKey: Hashable, Sendable {
    package let app: String
    package let provider: String

    /// Names an app's provider.
    package init(app: String, provider: String) {
        (self.app, self.provider) = (app, provider)
    }
}

/// Who holds a part of W.
package struct BudgetShare: Hashable, Sendable {
    package let key: ProviderKey
    package let lane: Lane

    /// Names a lane of an app's provider.
    package init(key: ProviderKey, lane: Lane) {
        (self.key, self.lane) = (key, lane)
    }
}

/// W, and who waits for a part of it.
package final class InFlightBudget: Sendable {
    private let budget: Locked<UnrecordedBudget<ProviderKey>>
    private let waiting = Locked<[String: @Sendable () -> Void]>([:])

    package init(capacity: Int) {
        budget = Locked(UnrecordedBudget(capacity: capacity))
    }

    /// Takes up to `wanted` slots.
    package func acquire(_ wanted: Int, for key: ProviderKey, lane: Lane) -> Int {
        budget.withLock { $0.acquire(wanted, for: key, lane: lane) }
    }

    /// Takes slots for a whole batch, or none.
    ///
    /// A batch that is larger than all its provider may have takes what there is as soon as nothing else of that provider
    /// holds any: it could never go otherwise.
    ///
    /// - Returns: how many were taken; nil if the batch has to wait.
    package func acquireWhole(_ count: Int, for share: BudgetShare) -> Int? {
        budget.withLock { budget in
            let taken = budget.acquire(count, for: share.key, lane: share.lane)
            let isAlone = taken > 0 && taken == budget.held(by: share.key)
            guard taken == count || isAlone else {
                budget.release(taken, for: share.key, lane: share.lane)
                return nil
            }
            budget.setWork(false, for: share.key, lane: share.lane)
            return taken
        }
    }

    /// Says whether a provider has work in a lane.
    package func setWork(_ hasWork: Bool, for key: ProviderKey, lane: Lane) {
        budget.withLock { $0.setWork(hasWork, for: key, lane: lane) }
    }

    /// Gives slots back and wakes who waits for some.
    package func release(_ slots: [BudgetShare: Int]) {
        guard !slots.isEmpty else { return }
        budget.withLock { budget in
            for (share, count) in slots { budget.release(count, for: share.key, lane: share.lane) }
        }
        let wakers = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
        for wake in wakers.values { wake() }
    }

    /// Runs a closure at the next release.
    ///
    /// - Parameters:
    ///   - waiter: who waits; looks again and again, and has one closure at a time, the last.
    ///   - wake: what wakes it.
    package func whenReleased(for waiter: String, _ wake: @escaping @Sendable () -> Void) {
        waiting.withLock { $0[waiter] = wake }
    }

    /// Half of W: a quarter of it answered makes a checkpoint due.
    package var checkpointShare: Int { budget.withLock { $0.capacity / 2 } }
}
