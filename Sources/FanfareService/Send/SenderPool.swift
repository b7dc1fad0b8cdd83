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
/// Each target has its own threads: a provider that does not answer delays no other target. The pool starts a thread when a batch
/// arrives and all its threads are busy. A thread ends after it was idle for ``IdlePatience``, so an app without pushes has none.
final class SenderPool: Sendable {
    /// How many batches of a queue may wait at each thread.
    ///
    /// Of first attempts enough to read the next while one is sent, little enough that memory stays flat; of retries fewer: their
    /// budget may hold them for long, and what was read for them grows old.
    static func depth(_ queue: SendQueue) -> Int { queue.isRetry ? 2 : 4 }

    /// How long the pool waits after a failed start before it starts a sender again.
    private static let pause = Micros.second

    private struct State {
        /// The senders that run.
        var senders: [(sender: Sender, thread: WorkerThread)] = []
        var isStopped = false
        /// The pool starts no sender before this time (steady clock).
        var startsAt: Microseconds = 0
        /// The last start failed, and the log has an error about it.
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

    /// Makes a pool without threads.
    ///
    /// - Parameters:
    ///   - settings: how to reach the provider.
    ///   - patience: how long an idle sender is kept.
    ///   - context: what all stages share.
    ///   - recorder: receives the results of pushes.
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
    /// Starts another sender if each has batches waiting. A stopped pool returns the batch to the queue.
    func send(_ batch: PreparedBatch) {
        state.withLock { state in
            let idlest = state.senders.map { (sender: $0.sender, waiting: $0.sender.waiting) }
                .min { $0.waiting < $1.waiting }
            if let idlest, idlest.waiting == 0 || state.senders.count >= limit || state.isStopped {
                idlest.sender.put(batch)
            } else {
                let sender = start(&state) ?? idlest?.sender
                sender?.put(batch)
                if sender == nil { recorder.put(.givenBack(batch)) }
            }
        }
    }

    /// Starts a sender; returns nil if the pool is stopped, pauses, or gets no thread.
    private func start(_ state: inout State) -> Sender? {
        guard !state.isStopped, state.startsAt <= Clocks.steady else { return nil }
        let taken = Set(state.senders.map(\.sender.index))
        let sender = Sender(
            index: (0..<limit).first { !taken.contains($0) } ?? 0,
            shared: SenderShared(settings: settings, breakers: breakers, retries: retries),
            context: context,
            recorder: recorder
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
    ///   - sender: one of the pool's.
    ///   - time: how long it has been idle.
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

    /// Removes a sender that failed to start.
    ///
    /// The sender returns its batches to the queue.
    ///
    /// - Parameters:
    ///   - sender: one of the pool's.
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

/// How long an idle sender keeps its thread and its connections.
struct IdlePatience: Sendable {
    /// The usual time.
    var time = 5 * Micros.minute
    /// The time while more than ``limit`` senders run: it frees threads, memory and descriptors for other apps.
    var shortTime = 10 * Micros.second
    /// The number of running senders of all pools from which ``shortTime`` counts.
    var limit = 200

    /// Whether a sender that was idle for so long ends.
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
