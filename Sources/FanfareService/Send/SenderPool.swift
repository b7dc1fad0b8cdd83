internal import FanfareCore
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
/// Every target has threads of its own, so that a provider that never answers stops nobody else.
final class SenderPool: Sendable {
    /// How many batches of a queue may wait at each thread.
    ///
    /// Of first attempts enough to read the next while one is sent, little enough that memory stays flat; of retries fewer: their
    /// budget may hold them for long, and what was read for them grows old.
    static func depth(_ queue: SendQueue) -> Int { queue.isRetry ? 2 : 4 }

    let settings: PoolSettings
    let breakers = Breakers()
    let retries = Locked(RetryBudget())
    private let senders: [Sender]
    private let threads = Locked<[WorkerThread]>([])

    init(settings: PoolSettings, context: StageContext, recorder: Mailbox<RecorderMessage>) {
        self.settings = settings
        senders = (0..<max(1, settings.threads)).map { [breakers, retries] index in
            let shared = SenderShared(settings: settings, breakers: breakers, retries: retries)
            return Sender(index: index, shared: shared, context: context, recorder: recorder)
        }
    }

    /// Starts the threads; call it once.
    func start() {
        let started = senders.map { sender in sender.start() }
        threads.withLock { $0 = started }
    }

    /// Submits nothing more; what is in flight is still awaited, and what is not goes back to the queue.
    func stop() {
        for sender in senders { sender.stop() }
    }

    /// Blocks until a stopped pool's threads have ended.
    func join() {
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    /// How many more batches of a queue may be claimed.
    func room(_ queue: SendQueue) -> Int {
        max(0, Self.depth(queue) * senders.count - senders.reduce(0) { $0 + $1.waiting(queue) })
    }

    /// Hands a batch to the sender that has least to do, of equals to the first: with little to send one connection does
    /// it all, and is warm.
    func send(_ batch: PreparedBatch) {
        senders.min { $0.waiting < $1.waiting }?.put(batch)
    }
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
