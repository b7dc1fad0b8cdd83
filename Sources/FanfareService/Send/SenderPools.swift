internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import Threading

/// The pools of all configured apps: one for each app, provider and environment, and what they were made from.
///
/// Never changes; ``SenderPools`` swaps one for another.
struct SenderRoster: Sendable {
    fileprivate struct Place: Hashable {
        let app: String
        let provider: String
        let environment: String

        init(_ target: Target) {
            app = target.app
            provider = target.provider
            environment = target.environment
        }
    }

    /// What each app sends with, by its name.
    let apps: [String: AppSenders]
    fileprivate let pools: [Place: SenderPool]

    /// No app has any.
    static let empty = SenderRoster(apps: [:], pools: [:])

    /// What each app is called at its providers, by its name.
    var identities: [String: AppIdentity] { apps.mapValues(\.identity) }

    /// Whether this daemon has credentials for a target.
    func serves(_ target: Target) -> Bool { pools[Place(target)] != nil }

    /// How many more batches may be claimed.
    func room(_ target: Target, _ queue: SendQueue) -> Int { pools[Place(target)]?.room(queue) ?? 0 }

    /// Hands a batch to its pool; one that was stopped since gives it back to the queue.
    func send(_ batch: PreparedBatch) { pools[Place(batch.target)]?.send(batch) }
}

/// Runs the pools of the apps that are configured now.
///
/// An app whose credentials changed gets new pools at once. Its old ones drain beside them: no batch is at two pools, since
/// one is only claimed again when the old pool gave it back.
final class SenderPools: Stage {
    private struct State {
        var isStopped = false
        var roster: SenderRoster
        /// Threads of stopped pools that may still run.
        var draining: [WorkerThread] = []
    }

    let name = "senders"
    private let context: StageContext
    private let recorder: Mailbox<RecorderMessage>
    private let state: Locked<State>
    private let stopping = Mailbox<Never>()

    init(_ apps: [String: AppSenders], context: StageContext, recorder: Mailbox<RecorderMessage>) {
        self.context = context
        self.recorder = recorder
        state = Locked(State(roster: .empty))
        replace(with: apps)
    }

    /// The pools to hand batches to now.
    var roster: SenderRoster { state.withLock { $0.roster } }

    /// Keeps the pools of apps that are as they were, makes those of others, and lets the rest drain.
    ///
    /// - Parameter apps: all apps; an ``AppSenders`` of the present roster stands for pools that are kept.
    func replace(with apps: [String: AppSenders]) {
        let before = roster
        var pools: [SenderRoster.Place: SenderPool] = [:]
        for (name, app) in apps {
            for settings in app.pools {
                let place = SenderRoster.Place(settings.target)
                let kept = before.apps[name] === app ? before.pools[place] : nil
                pools[place] = kept ?? SenderPool(settings: settings, context: context, recorder: recorder)
            }
        }
        let retired = before.pools.filter { pools[$0.key] !== $0.value }.map(\.value)
        let isStopped = state.withLock { [pools] state in
            state.roster = SenderRoster(apps: apps, pools: pools)
            return state.isStopped
        }
        for pool in retired { drain(pool) }
        if !isStopped { context.bells.claim.ring() }
    }

    func run() {
        while stopping.take() != nil {}
        let (roster, draining) = state.withLock { state in
            state.isStopped = true
            return (state.roster, state.draining)
        }
        let threads = roster.pools.values.flatMap { $0.stop() }
        for thread in threads + draining { thread.join() }
    }

    func stop() { stopping.close() }

    /// Stops a pool, and logs when its last thread has ended.
    private func drain(_ pool: SenderPool) {
        let target = pool.settings.target
        context.status.forgetBreaker("\(target.app)/\(target.provider)/\(target.environment)")
        let threads = pool.stop()
        guard !threads.isEmpty else { return }
        state.withLock { $0.draining.append(contentsOf: threads) }
        // Ends with the pool, within the deadline of a request; at the daemon's end the senders themselves are waited for.
        _ = WorkerThread.start(name: "drain") { [context, state] in
            for thread in threads { thread.join() }
            state.withLock { state in state.draining.removeAll { old in threads.contains { $0 === old } } }
            context.logger.notice(
                "replaced senders have drained",
                metadata: .init([
                    .app: "\(target.app)", .provider: "\(target.provider)", .environment: "\(target.environment)",
                ])
            )
        }
    }
}
