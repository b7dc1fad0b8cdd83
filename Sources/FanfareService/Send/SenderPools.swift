internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import Threading

/// The pools of all configured apps: one for each app, platform and environment, and what they were made from.
///
/// Never changes; ``SenderPools`` swaps one for another.
struct SenderRoster: Sendable {
    fileprivate struct Place: Hashable {
        let app: String
        let platform: String
        let environment: String

        init(_ target: Target) {
            app = target.app
            platform = target.platform
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
    private enum Phase {
        /// Can transition to: `running`, `stopped`.
        case made
        /// Can transition to: `stopped`.
        case running
        /// Final.
        case stopped
    }

    private struct State {
        var phase = Phase.made
        var roster: SenderRoster
        /// Stopped, and not known to have ended.
        var draining: [SenderPool] = []
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
        let added = pools.filter { before.pools[$0.key] !== $0.value }.map(\.value)
        let phase = state.withLock { [pools] state in
            state.roster = SenderRoster(apps: apps, pools: pools)
            if state.phase == .running { state.draining += retired }
            return state.phase
        }
        guard phase == .running else { return }
        for pool in retired { drain(pool) }
        for pool in added { pool.start() }
        context.bells.claim.ring()
    }

    func run() {
        let pools = state.withLock { state in
            if state.phase == .made { state.phase = .running }
            return state.roster.pools.values.map(\.self)
        }
        for pool in pools { pool.start() }
        while stopping.take() != nil {}
        let last = state.withLock { state in
            state.phase = .stopped
            return (stopped: Array(state.roster.pools.values), draining: state.draining)
        }
        for pool in last.stopped { pool.stop() }
        for pool in last.stopped + last.draining { pool.join() }
    }

    func stop() { stopping.close() }

    /// Stops a pool; what it was is forgotten when its last answer has come.
    private func drain(_ pool: SenderPool) {
        let target = pool.settings.target
        context.status.forgetBreaker("\(target.app)/\(target.platform)/\(target.environment)")
        pool.stop()
        // Ends with the pool, within the deadline of a request; at the daemon's end the pool itself is waited for.
        _ = WorkerThread.start(name: "drain") { [context, state] in
            pool.join()
            state.withLock { $0.draining.removeAll { $0 === pool } }
            context.logger.notice(
                "replaced senders have drained",
                metadata: .init([
                    .app: "\(target.app)", .provider: "\(target.platform)", .environment: "\(target.environment)",
                ])
            )
        }
    }
}
