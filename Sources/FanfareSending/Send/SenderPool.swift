internal import FanfareCore
internal import FanfareLogging
package import FanfareProviders
internal import FanfareStages
package import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// The settings to reach one app's provider in one environment.
package struct PoolSettings: Sendable {
    package let target: Target
    package let pool: ProviderPool
    package let threads: Int
}

/// The pools of all configured apps, one for each app, provider and environment, with the settings they were made from.
///
/// It is immutable; ``SenderPools`` replaces it as a whole.
package struct SenderRoster: Sendable {
    struct Place: Hashable {
        let app: String
        let provider: String
        let environment: String

        init(_ target: Target) {
            app = target.app
            provider = target.provider
            environment = target.environment
        }
    }

    /// The senders' settings by app name.
    package let apps: [String: AppSenders]
    let pools: [Place: SenderPool]

    /// A roster without apps.
    package static let empty = SenderRoster(apps: [:], pools: [:])

    /// The identity of each app at its providers, by app name.
    package var identities: [String: AppIdentity] { apps.mapValues(\.identity) }

    /// Returns whether this daemon has credentials for a target.
    package func serves(_ target: Target) -> Bool { pools[Place(target)] != nil }

    /// Returns how many more batches of a target's queue may be claimed.
    package func room(_ target: Target, _ queue: SendQueue) -> Int { pools[Place(target)]?.room(queue) ?? 0 }

    /// Gives a batch to its pool; a pool that was stopped meanwhile returns it to the queue.
    package func send(_ batch: PreparedBatch) { pools[Place(batch.target)]?.send(batch) }
}

/// The sender threads of one target, their shared breakers, and the number of batches that wait for them.
///
/// Each target has its own threads, so a provider that does not respond delays no other target. The pool starts a
/// thread when a batch arrives and all its threads are busy. A thread ends after it was idle for ``IdlePatience``, so
/// an app without pushes has none.
final class SenderPool: Sendable {
    /// Returns how many batches of a queue may wait at each thread.
    ///
    /// For first attempts these are enough to read the next one while one is sent, and few enough that memory stays
    /// flat. For retries there are fewer, because the retry budget may hold them for long while the data read for them
    /// becomes stale.
    static func depth(_ queue: SendQueue) -> Int { queue.isRetry ? 2 : 4 }

    /// The delay after a failed start before another sender is started.
    private static let pause = Micros.second

    private struct State {
        /// The running senders.
        var senders: [(sender: Sender, thread: WorkerThread)] = []
        var isStopped = false
        /// The earliest time of the next start (steady clock).
        var startsAt: Microseconds = 0
        /// Whether the last start failed and was logged as an error.
        var hasFailed = false
    }

    let settings: PoolSettings
    let breakers = Breakers()
    let retries = Locked(RetryBudget())
    private let limit: Int
    private let patience: IdlePatience
    private let links: SenderLinks
    private let state = Locked(State())

    /// Creates a pool without threads.
    ///
    /// - Parameters:
    ///   - settings: the settings to reach the provider.
    ///   - patience: how long an idle sender is kept.
    ///   - links: the parts of the daemon that senders use.
    init(settings: PoolSettings, patience: IdlePatience = IdlePatience(), links: SenderLinks) {
        (self.settings, self.patience, self.links) = (settings, patience, links)
        limit = max(1, settings.threads)
    }

    /// The number of running senders.
    var running: Int { state.withLock { $0.senders.count } }

    /// Stops all senders.
    ///
    /// They wait for the answers to requests in flight, and return the other pushes to the queue.
    ///
    /// - Returns: the senders' threads, to wait for.
    func stop() -> [WorkerThread] {
        state.withLock { state in
            state.isStopped = true
            for (sender, _) in state.senders { sender.stop() }
            return state.senders.map(\.thread)
        }
    }

    /// Returns how many more batches of a queue may be claimed.
    func room(_ queue: SendQueue) -> Int {
        state.withLock { state in
            let takers = state.startsAt <= Clocks.steady ? limit : state.senders.count
            return max(0, Self.depth(queue) * takers - state.senders.reduce(0) { $0 + $1.sender.waiting(queue) })
        }
    }

    /// Gives a batch to the sender with the fewest waiting batches; starts another sender if each has some.
    ///
    /// Of several the first one is chosen, so that at low load one warm connection does all the work. A stopped pool
    /// returns the batch to the queue.
    func send(_ batch: PreparedBatch) {
        state.withLock { state in
            let idlest = state.senders.map { (sender: $0.sender, waiting: $0.sender.waiting) }
                .min { $0.waiting < $1.waiting }
            if let idlest, idlest.waiting == 0 || state.senders.count >= limit || state.isStopped {
                idlest.sender.put(batch)
            } else {
                let sender = start(&state) ?? idlest?.sender
                sender?.put(batch)
                if sender == nil { links.recorder.put(.givenBack(batch)) }
            }
        }
    }

    /// Starts a sender; returns nil if the pool is stopped or paused, or no thread can be created.
    private func start(_ state: inout State) -> Sender? {
        guard !state.isStopped, state.startsAt <= Clocks.steady else { return nil }
        let taken = Set(state.senders.map(\.sender.index))
        let sender = Sender(
            index: (0..<limit).first { !taken.contains($0) } ?? 0,
            shared: SenderShared(settings: settings, breakers: breakers, retries: retries),
            links: links
        )
        guard let thread = sender.start(in: self) else {
            failed("the system has no thread to give", &state)
            return nil
        }
        state.senders.append((sender, thread))
        return sender
    }

    // MARK: Calls from senders

    /// Stops a sender that was idle for longer than ``IdlePatience``.
    ///
    /// - Parameters:
    ///   - sender: a sender of this pool.
    ///   - time: how long it has been idle.
    func isIdle(_ sender: Sender, for time: Microseconds) {
        guard patience.isOver(time) else { return }
        state.withLock { state in
            // A batch may have arrived since the sender checked.
            guard sender.waiting == 0 else { return }
            state.senders.removeAll { $0.sender === sender }
            sender.stop()
        }
    }

    /// Records that a sender is ready to send.
    func hasStarted(_ sender: Sender) { state.withLock { $0.hasFailed = false } }

    /// Removes a sender that failed to start.
    ///
    /// The sender returns its batches to the queue.
    ///
    /// - Parameters:
    ///   - sender: a sender of this pool.
    ///   - why: the reason, for the log.
    func couldNotStart(_ sender: Sender, because why: String) {
        state.withLock { state in
            state.senders.removeAll { $0.sender === sender }
            sender.stop()
            failed(why, &state)
        }
    }

    private func failed(_ why: String, _ state: inout State) {
        state.startsAt = Clocks.steady + Self.pause
        links.context.logger.log(
            level: state.hasFailed ? .debug : .error,
            "a sender could not start",
            metadata: settings.target.metadata([
                .error: "\(why)", .retryMilliseconds: "\(Self.pause / Micros.millisecond)",
            ])
        )
        state.hasFailed = true
    }
}

/// The time for which an idle sender keeps its thread and connections.
struct IdlePatience: Sendable {
    /// The usual time.
    var time = 5 * Micros.minute
    /// The time while more than ``limit`` senders run, which frees threads, memory and descriptors for other apps.
    var shortTime = 10 * Micros.second
    /// The number of running senders, over all pools, above which ``shortTime`` applies.
    var limit = 200

    /// Returns whether a sender that was idle for this long ends.
    func isOver(_ idle: Microseconds) -> Bool { idle >= (Sender.running > limit ? shortTime : time) }
}

/// The state that a sender shares: breakers and retry budget with its pool's other senders, the waiting batches with
/// the pool.
struct SenderShared: Sendable {
    let settings: PoolSettings
    let breakers: Breakers
    let retries: Locked<RetryBudget>
    /// The number of waiting batches by queue.
    let waiting = Locked<[SendQueue: Int]>([:])
    /// Whether requests have different origins; stored, because it is read for every answer.
    let hasManyOrigins: Bool

    init(settings: PoolSettings, breakers: Breakers, retries: Locked<RetryBudget>) {
        (self.settings, self.breakers, self.retries) = (settings, breakers, retries)
        hasManyOrigins = settings.pool.hasManyOrigins
    }
}
