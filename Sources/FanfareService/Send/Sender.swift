internal import FanfareCore
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
        wake()
    }

    private func wake() {
        waker.withLock { $0 }?.wake()
    }

    func run() {
        let transport: any PushTransport
        let writer: any RequestWriter
        do {
            transport = try shared.settings.makeTransport()
            writer = try shared.settings.access.makeWriter()
        } catch {
            context.logger.error("a sender could not start", metadata: .init([.error: "\(error)"]))
            while let batches = inbox.take() { giveBack(batches) }
            return
        }
        waker.withLock { [wake = transport.waker] in $0 = wake }
        var desk = SenderDesk(
            shared: shared,
            context: context,
            recorder: recorder,
            transport: transport,
            writer: writer
        )
        desk.name = name
        desk.whenBlocked = { [weak self] in self?.wake() }
        while let batches = inbox.take(timeout: .zero) {
            context.pulses.beat(name)
            desk.accept(batches)
            desk.turn()
        }
        desk.drain()
    }

    private func giveBack(_ batches: [PreparedBatch]) {
        for batch in batches {
            recorder.put(.abandoned(batch.claimed.claim, unsent: batch.pairs.map(\.position)))
        }
    }
}
