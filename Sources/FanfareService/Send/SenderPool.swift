internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// How to reach one app's provider in one environment.
struct PoolSettings: Sendable {
    let target: Target
    let pool: ProviderPool
    let threads: Int
}

/// The sender threads of one target, the breaker they share, and how many batches wait for them.
///
/// Every target has threads of its own, so that a provider that never answers stops nobody else. They start with the first batch
/// that no other has time for, and end when they have had nothing to do for long: an app without pushes costs none.
final class SenderPool: Sendable {
    /// How many batches of a queue may wait at each thread.
    ///
    /// Of first attempts enough to read the next while one is sent, little enough that memory stays flat; of retries fewer: their
    /// budget may hold them for long, and what was read for them grows old.
    static func depth(_ queue: SendQueue) -> Int { queue.isRetry ? 2 : 4 }

    /// How long no other sender is started after one that could not.
    private static let pause = Micros.second

    private struct State {
        /// Those that run.
        var senders: [(sender: Sender, thread: WorkerThread)] = []
        var isStopped = false
        /// No sender is started before (steady clock).
        var startsAt: Microseconds = 0
        /// The last sender could not start, which was told.
        var hasFailed = false
    }

    let settings: PoolSettings
    let breakers = Breakers()
    let retries = Locked(RetryBudget())
    private let limit: Int
    private let patience: IdlePatience
    private let context: StageContext
    private let recorder: Mailbox<RecorderMessage>
    private let state = Locked(State())

    /// Describes a pool; no thread is started yet.
    ///
    /// - Parameters:
    ///   - settings: how to reach the provider.
    ///   - patience: how long a sender that has nothing to do is kept.
    ///   - context: what all stages share.
    ///   - recorder: told what became of pushes.
    init(
        settings: PoolSettings,
        patience: IdlePatience = IdlePatience(),
        context: StageContext,
        recorder: Mailbox<RecorderMessage>
    ) {
        (self.settings, self.patience, self.context, self.recorder) = (settings, patience, context, recorder)
        limit = max(1, settings.threads)
    }

    /// How many senders run.
    var running: Int { state.withLock { $0.senders.count } }

    /// Submits nothing more; what is in flight is still awaited, and what is not goes back to the queue.
    ///
    /// - Returns: the threads that end when all of it is known.
    func stop() -> [WorkerThread] {
        state.withLock { state in
            state.isStopped = true
            for (sender, _) in state.senders { sender.stop() }
            return state.senders.map(\.thread)
        }
    }

    /// How many more batches of a queue may be claimed.
    func room(_ queue: SendQueue) -> Int {
        state.withLock { state in
            let takers = state.startsAt <= Clocks.steady ? limit : state.senders.count
            return max(0, Self.depth(queue) * takers - state.senders.reduce(0) { $0 + $1.sender.waiting(queue) })
        }
    }

    /// Hands a batch to the sender that has least to do, of equals to the first: with little to send one connection does
    /// it all, and is warm.
    ///
    /// Where each has something to do it starts another. A pool that was stopped gives the batch back to the queue.
    func send(_ batch: PreparedBatch) {
        state.withLock { state in
            let idlest = state.senders.map { (sender: $0.sender, waiting: $0.sender.waiting) }
                .min { $0.waiting < $1.waiting }
            if let idlest, idlest.waiting == 0 || state.senders.count >= limit || state.isStopped {
                idlest.sender.put(batch)
            } else {
                (start(&state) ?? idlest?.sender ?? stoppedSender).put(batch)
            }
        }
    }

    /// Starts a sender; nil if that cannot be now.
    private func start(_ state: inout State) -> Sender? {
        guard !state.isStopped, state.startsAt <= Clocks.steady else { return nil }
        let taken = Set(state.senders.map(\.sender.index))
        let sender = makeSender((0..<limit).first { !taken.contains($0) } ?? 0)
        guard let thread = sender.start(in: self) else {
            failed("the system has no thread to give", &state)
            return nil
        }
        state.senders.append((sender, thread))
        return sender
    }

    /// One that gives back what it is handed.
    private var stoppedSender: Sender {
        let sender = makeSender(0)
        sender.stop()
        return sender
    }

    private func makeSender(_ index: Int) -> Sender {
        let shared = SenderShared(settings: settings, breakers: breakers, retries: retries)
        return Sender(index: index, shared: shared, context: context, recorder: recorder)
    }

    // MARK: What senders tell

    /// Stops a sender that has had nothing to do for long.
    ///
    /// - Parameters:
    ///   - sender: one of the pool's.
    ///   - time: for how long it had nothing to do.
    func isIdle(_ sender: Sender, for time: Microseconds) {
        guard patience.isOver(time) else { return }
        state.withLock { state in
            // A batch may have come since it looked.
            guard sender.waiting == 0 else { return }
            state.senders.removeAll { $0.sender === sender }
            sender.stop()
        }
    }

    /// A sender is ready to send.
    func hasStarted(_ sender: Sender) { state.withLock { $0.hasFailed = false } }

    /// Forgets a sender that could not start: what it was handed goes back to the queue, for another daemon or a later try.
    ///
    /// - Parameters:
    ///   - sender: one of the pool's.
    ///   - why: why it could not.
    func couldNotStart(_ sender: Sender, because why: String) {
        state.withLock { state in
            state.senders.removeAll { $0.sender === sender }
            sender.stop()
            failed(why, &state)
        }
    }

    private func failed(_ why: String, _ state: inout State) {
        state.startsAt = Clocks.steady + Self.pause
        context.logger.log(
            level: state.hasFailed ? .debug : .error,
            "a sender could not start",
            metadata: settings.target.metadata([
                .error: "\(why)", .retryMilliseconds: "\(Self.pause / Micros.millisecond)",
            ])
        )
        state.hasFailed = true
    }
}

/// How long senders that have nothing to do are kept, with the connections that they have.
struct IdlePatience: Sendable {
    /// How long, in general.
    var time = 5 * Micros.minute
    /// How long where very many run, so that others find threads, memory and descriptors.
    var shortTime = 10 * Micros.second
    /// How many are very many, of all pools.
    var limit = 200

    /// Whether a sender has been without work for long enough to end.
    func isOver(_ idle: Microseconds) -> Bool { idle >= (Sender.running > limit ? shortTime : time) }
}

/// What a sender shares: breakers and retry budget with the pool's others, and how much waits with the pool.
struct SenderShared: Sendable {
    let settings: PoolSettings
    let breakers: Breakers
    let retries: Locked<RetryBudget>
    /// How many batches wait.
    let waiting = Locked<[SendQueue: Int]>([:])
    /// Whether requests name the origins that they go to; asked for every answer.
    let hasManyOrigins: Bool

    init(settings: PoolSettings, breakers: Breakers, retries: Locked<RetryBudget>) {
        (self.settings, self.breakers, self.retries) = (settings, breakers, retries)
        hasManyOrigins = settings.pool.hasManyOrigins
    }
}
