internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// One sender thread: receives whole batches, sends requests, and passes results to the recorder.
///
/// Its ``SenderPool`` starts it when a batch arrives, and stops it when it is idle. It uses no lock, task or
/// continuation per push.
final class Sender: Sendable {
    /// The number of the sender among the running senders of its pool.
    let index: Int
    private let name: String
    private let shared: SenderShared
    private let context: StageContext
    private let recorder: Mailbox<RecorderMessage>
    private let inbox = Mailbox<PreparedBatch>()
    private let waker = Locked<(any TransportWaker)?>(nil)
    /// The free descriptors that a starting sender leaves for connections and the rest of the daemon; if senders used
    /// them all, none could send.
    private static let headroom = 16
    /// Held while a sender starts: otherwise eighty at once would each find enough descriptors.
    private static let starting = Locked(())
    private static let runningCount = Locked(0)

    init(index: Int, shared: SenderShared, context: StageContext, recorder: Mailbox<RecorderMessage>) {
        let target = shared.settings.target
        self.index = index
        name = "send-\(target.app)-\(target.provider)-\(target.environment)-\(index)"
        self.shared = shared
        self.context = context
        self.recorder = recorder
    }

    /// Starts the sender's thread.
    ///
    /// - Parameter pool: notified when the sender is idle or fails to start.
    /// - Returns: the thread; nil if the system refuses to create one.
    func start(in pool: SenderPool) -> WorkerThread? {
        WorkerThread.startIfPossible(name: name) { [self] in
            Self.runningCount.withLock { $0 += 1 }
            run(in: pool)
            Self.runningCount.withLock { $0 -= 1 }
            context.pulses.rest(name)
        }
    }

    /// The number of running senders of all pools.
    static var running: Int { runningCount.withLock { $0 } }

    /// The number of waiting batches in all queues.
    var waiting: Int { shared.waiting.withLock { $0.values.reduce(0, +) } }

    /// Returns the number of waiting batches in a queue.
    func waiting(_ queue: SendQueue) -> Int { shared.waiting.withLock { $0[queue] ?? 0 } }

    /// Adds a batch, from any thread.
    ///
    /// If the sender is stopped, the batch returns to the queue.
    func put(_ batch: PreparedBatch) {
        shared.waiting.withLock { $0[batch.claimed.queue, default: 0] += 1 }
        guard inbox.put(batch) else { return giveBack([batch]) }
        wake()
    }

    /// Stops the sender: it waits for requests in flight and returns the other pushes to the queue.
    func stop() {
        inbox.close()
        wake()
    }

    private func wake() {
        waker.withLock { $0 }?.wake()
    }

    private func run(in pool: SenderPool) {
        let made: (transport: any PushTransport, writer: any RequestWriter)
        do {
            made = try makeTransport()
        } catch {
            pool.couldNotStart(self, because: "\(error)")
            while let batches = inbox.take() { giveBack(batches) }
            return
        }
        pool.hasStarted(self)
        var state = SenderState(
            shared: shared,
            context: context,
            recorder: recorder,
            transport: made.transport,
            writer: made.writer
        )
        state.name = name
        state.whenBlocked = { [weak self] in self?.wake() }
        var lastBusy = Clocks.steady
        while let batches = inbox.take(timeout: .zero) {
            context.pulses.beat(name)
            state.accept(batches)
            state.turn()
            let now = Clocks.steady
            if state.isIdle { pool.isIdle(self, for: now - lastBusy) } else { lastBusy = now }
        }
        state.drain()
    }

    /// Creates the transport and the writer on the sender's own thread, so that only running senders hold descriptors.
    private func makeTransport() throws -> (transport: any PushTransport, writer: any RequestWriter) {
        let transport = try Self.starting.withLock { _ in
            guard DescriptorLimit.hasRoom(for: Self.headroom) else { throw NoDescriptors() }
            return try shared.settings.pool.makeTransport()
        }
        let writer = try shared.settings.pool.access.makeWriter()
        waker.withLock { [wake = transport.waker] in $0 = wake }
        return (transport, writer)
    }

    private func giveBack(_ batches: [PreparedBatch]) {
        for batch in batches {
            shared.waiting.withLock { $0[batch.claimed.queue, default: 0] -= 1 }
            recorder.put(.givenBack(batch))
        }
    }
}

private struct NoDescriptors: Error, CustomStringConvertible {
    var description: String { "Too many open files; raise LimitNOFILE= of the daemon's unit, or ulimit -Hn" }
}
