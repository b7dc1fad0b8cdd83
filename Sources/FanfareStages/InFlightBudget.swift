package import FanfareCore
internal import Threading

/// An app and provider, which share the in-flight budget with other apps and providers.
package struct ProviderKey: Hashable, Sendable {
    package let app: String
    package let provider: String

    /// Creates a key.
    package init(app: String, provider: String) {
        (self.app, self.provider) = (app, provider)
    }
}

/// A holder of slots in the in-flight budget: one lane of an app's provider.
package struct BudgetShare: Hashable, Sendable {
    package let key: ProviderKey
    package let lane: Lane

    /// Creates a share.
    package init(key: ProviderKey, lane: Lane) {
        (self.key, self.lane) = (key, lane)
    }
}

/// The in-flight budget and the waiters for free slots.
package final class InFlightBudget: Sendable {
    private let budget: Locked<UnrecordedBudget<ProviderKey>>
    private let waiting = Locked<[String: @Sendable () -> Void]>([:])

    package init(capacity: Int) {
        budget = Locked(UnrecordedBudget(capacity: capacity))
    }

    /// Takes up to `wanted` slots and returns how many were granted.
    package func acquire(_ wanted: Int, for key: ProviderKey, lane: Lane) -> Int {
        budget.withLock { $0.acquire(wanted, for: key, lane: lane) }
    }

    /// Takes slots for a whole batch, or none.
    ///
    /// A batch larger than its provider's limit takes all slots that are free as soon as its provider holds no others;
    /// otherwise it could never be sent.
    ///
    /// - Returns: the number of slots taken; nil if the batch has to wait.
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

    /// Records whether a provider has work in a lane.
    package func setWork(_ hasWork: Bool, for key: ProviderKey, lane: Lane) {
        budget.withLock { $0.setWork(hasWork, for: key, lane: lane) }
    }

    /// Releases slots and wakes all waiters.
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
    ///   - waiter: the name of the waiter; a later closure for the same name replaces the earlier one.
    ///   - wake: the closure.
    package func whenReleased(for waiter: String, _ wake: @escaping @Sendable () -> Void) {
        waiting.withLock { $0[waiter] = wake }
    }

    /// Half of the budget; when half of this number is answered, a checkpoint is due.
    package var checkpointShare: Int { budget.withLock { $0.capacity / 2 } }
}
