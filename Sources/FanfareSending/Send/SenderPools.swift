internal import FanfareLogging
package import FanfareStages
internal import FanfareStore
internal import Logging
package import Threading

/// The parts of the daemon that senders use.
package struct SenderLinks: Sendable {
    let context: StageContext
    let orders: Orders
    let budget: InFlightBudget
    let counters: PipelineCounters
    /// Rung when a queue has room again.
    let claimer: Bell
    /// Receives the results of pushes.
    let recorder: Mailbox<RecorderMessage>

    package init(
        context: StageContext,
        orders: Orders,
        budget: InFlightBudget,
        counters: PipelineCounters,
        claimer: Bell,
        recorder: Mailbox<RecorderMessage>
    ) {
        (self.context, self.orders, self.budget) = (context, orders, budget)
        (self.counters, self.claimer, self.recorder) = (counters, claimer, recorder)
    }
}

/// Runs the pools of the configured apps.
///
/// An app whose credentials changed gets new pools at once, while its old ones drain. No batch is in two pools, since
/// it is claimed again only after the old pool has given it back.
package final class SenderPools: Stage {
    private struct State {
        var isStopped = false
        var roster: SenderRoster
        /// Threads of stopped pools that may still run.
        var draining: [WorkerThread] = []
    }

    package let name = "senders"
    private let links: SenderLinks
    private let state: Locked<State>
    private let stopping = Mailbox<Never>()

    package init(_ apps: [String: AppSenders], links: SenderLinks) {
        self.links = links
        state = Locked(State(roster: .empty))
        replace(with: apps)
    }

    /// The current pools.
    package var roster: SenderRoster { state.withLock { $0.roster } }

    /// Keeps the pools of unchanged apps, creates those of others, and drains the rest.
    ///
    /// - Parameter apps: all apps; an ``AppSenders`` object of the current roster means that its pools are kept.
    package func replace(with apps: [String: AppSenders]) {
        let before = roster
        var pools: [SenderRoster.Place: SenderPool] = [:]
        for (name, app) in apps {
            for settings in app.pools {
                let place = SenderRoster.Place(settings.target)
                let kept = before.apps[name] === app ? before.pools[place] : nil
                pools[place] = kept ?? SenderPool(settings: settings, links: links)
            }
        }
        let retired = before.pools.filter { pools[$0.key] !== $0.value }.map(\.value)
        let isStopped = state.withLock { [pools] state in
            state.roster = SenderRoster(apps: apps, pools: pools)
            return state.isStopped
        }
        for pool in retired { drain(pool) }
        if !isStopped { links.claimer.ring() }
    }

    package func run() {
        while stopping.take() != nil {}
        let (roster, draining) = state.withLock { state in
            state.isStopped = true
            return (state.roster, state.draining)
        }
        let threads = roster.pools.values.flatMap { $0.stop() }
        for thread in threads + draining { thread.join() }
    }

    package func stop() { stopping.close() }

    /// Stops a pool, and logs when its last thread has ended.
    private func drain(_ pool: SenderPool) {
        let target = pool.settings.target
        links.context.status.forgetBreaker("\(target.app)/\(target.provider)/\(target.environment)")
        let threads = pool.stop()
        guard !threads.isEmpty else { return }
        state.withLock { $0.draining.append(contentsOf: threads) }
        // The thread ends with the pool, within the deadline of a request. On shutdown the senders themselves are
        // joined.
        _ = WorkerThread.start(name: "drain") { [logger = links.context.logger, state] in
            for thread in threads { thread.join() }
            state.withLock { state in state.draining.removeAll { old in threads.contains { $0 === old } } }
            logger.notice(
                "replaced senders have drained",
                metadata: .init([
                    .app: "\(target.app)", .provider: "\(target.provider)", .environment: "\(target.environment)",
                ])
            )
        }
    }
}
