internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// One sender thread: whole batches in, requests out, results to the recorder.
///
/// No lock, task or continuation per push.
final class Sender: Stage {
    let name: String
    private let shared: SenderShared
    private let context: StageContext
    private let recorder: Mailbox<RecorderMessage>
    private let inbox = Mailbox<PreparedBatch>()
    private let waker = Locked<(any TransportWaker)?>(nil)
    private let stopped = Bell()
    /// Descriptors that a sender leaves to its connections and everybody else's: all that wait with none left would send nothing.
    private static let headroom = 16
    /// Held by the sender that starts: eighty at once would each find room.
    private static let starting = Locked(())
    /// How long nothing is tried again after a sender could not start.
    private static let pause = Micros.second

    init(index: Int, shared: SenderShared, context: StageContext, recorder: Mailbox<RecorderMessage>) {
        let target = shared.settings.target
        name = "send-\(target.app)-\(target.platform)-\(target.environment)-\(index)"
        self.shared = shared
        self.context = context
        self.recorder = recorder
    }

    /// Runs on a thread of its own until ``stop()``.
    func start() -> WorkerThread {
        WorkerThread.start(name: name) { [self] in
            run()
            context.pulses.rest(name)
        }
    }

    /// How many batches wait, in all queues.
    var waiting: Int { shared.waiting.withLock { $0.values.reduce(0, +) } }

    /// How many batches wait in one queue.
    func waiting(_ queue: SendQueue) -> Int { shared.waiting.withLock { $0[queue] ?? 0 } }

    /// Hands over a batch, from any thread.
    func put(_ batch: PreparedBatch) {
        shared.waiting.withLock { $0[batch.claimed.queue, default: 0] += 1 }
        guard inbox.put(batch) else {
            recorder.put(.abandoned(batch.claimed.claim, unsent: batch.pairs.map(\.position)))
            return
        }
        wake()
    }

    func stop() {
        inbox.close()
        stopped.ring()
        wake()
    }

    private func wake() {
        waker.withLock { $0 }?.wake()
    }

    func run() {
        guard let (first, transport, writer) = begin() else { return }
        var desk = SenderDesk(
            shared: shared,
            context: context,
            recorder: recorder,
            transport: transport,
            writer: writer
        )
        desk.name = name
        desk.whenBlocked = { [weak self] in self?.wake() }
        desk.accept(first)
        desk.turn()
        while let batches = inbox.take(timeout: .zero) {
            context.pulses.beat(name)
            desk.accept(batches)
            desk.turn()
        }
        desk.drain()
    }

    /// Waits for the first batches and makes what sends them: a sender without work holds no descriptors.
    ///
    /// Where it cannot be made, most likely for want of descriptors, what came goes back to the queue, for another daemon or
    /// a later try.
    ///
    /// - Returns: nil when it is told to stop before.
    private func begin() -> (first: [PreparedBatch], any PushTransport, any RequestWriter)? {
        var hasFailed = false
        while let batches = inbox.take(timeout: .seconds(1)) {
            context.pulses.beat(name)
            guard !batches.isEmpty else { continue }
            do {
                let transport = try Self.starting.withLock { _ in
                    guard DescriptorLimit.hasRoom(for: Self.headroom) else { throw NoDescriptors() }
                    return try shared.settings.pool.makeTransport()
                }
                let writer = try shared.settings.pool.access.makeWriter()
                waker.withLock { [wake = transport.waker] in $0 = wake }
                return (batches, transport, writer)
            } catch {
                context.logger.log(
                    level: hasFailed ? .debug : .error,
                    "a sender could not start",
                    metadata: shared.settings.target.metadata([
                        .error: "\(error)", .retryMilliseconds: "\(Self.pause / Micros.millisecond)",
                    ])
                )
                hasFailed = true
                giveBack(batches)
                stopped.wait(timeout: .microseconds(Self.pause))
            }
        }
        return nil
    }

    private func giveBack(_ batches: [PreparedBatch]) {
        for batch in batches {
            shared.waiting.withLock { $0[batch.claimed.queue, default: 0] -= 1 }
            recorder.put(.abandoned(batch.claimed.claim, unsent: batch.pairs.map(\.position)))
        }
    }
}

private struct NoDescriptors: Error, CustomStringConvertible {
    var description: String { "Too many open files; raise LimitNOFILE= of the daemon's unit, or ulimit -Hn" }
}
