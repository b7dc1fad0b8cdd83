import FanfareCore
import PushTransport
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A sender thread: the daemon's own sender on a simulated transport.
final class VirtualSender {
    let transport: SimulatedTransport
    private let shared: SenderShared
    private var sender: SenderState
    private var inbox: [PreparedBatch] = []
    /// Whether a turn is scheduled.
    var isAwake = false

    init(target: Target, daemon: VirtualDaemon, provider: Provider) {
        let transport = SimulatedTransport(provider: provider, target: target.id, daemon: daemon)
        let settings = PoolSettings(
            target: target,
            pool: ProviderPool(
                environment: target.environment,
                access: APNsAccess(tokens: nil),
                makeTransport: { throw Unused() }
            ),
            threads: 1
        )
        self.transport = transport
        shared = SenderShared(settings: settings, breakers: Breakers(), retries: Locked(RetryBudget()))
        sender = SenderState(
            shared: shared,
            links: SenderLinks(
                context: daemon.context,
                orders: daemon.orders,
                budget: daemon.limits.budget,
                counters: PipelineCounters(),
                claimer: Bell(),
                recorder: daemon.mailbox
            ),
            transport: transport,
            writer: SharedHeadWriter()
        )
    }

    private struct Unused: Error {}

    func waiting(_ queue: SendQueue) -> Int { shared.waiting.withLock { $0[queue] ?? 0 } }

    /// Whether there are requests to send or responses to wait for.
    var isBusy: Bool { transport.inFlight > 0 || shared.waiting.withLock { $0.values.contains { $0 > 0 } } }

    func put(_ batch: PreparedBatch) {
        shared.waiting.withLock { $0[batch.claimed.queue, default: 0] += 1 }
        inbox.append(batch)
    }

    func turn() {
        sender.accept(inbox)
        inbox = []
        sender.turn()
    }
}

/// The simulation of `Sender`.
extension VirtualDaemon {
    func send(_ batch: PreparedBatch) {
        guard let sender = senders[batch.target.id] else { return }
        sender.put(batch)
        guard !sender.isAwake else { return }
        sender.isAwake = true
        after(0) { self.turn(sender) }
    }

    private func turn(_ sender: VirtualSender) {
        sender.turn()
        after(0) { self.record() }
        guard sender.isBusy else {
            sender.isAwake = false
            return
        }
        let next = sender.transport.nextAnswer.map { $0 - world.now } ?? 20 * Micros.millisecond
        after(min(max(next, 100), 20 * Micros.millisecond)) { self.turn(sender) }
    }
}

/// The simulation of `Recorder`.
extension VirtualDaemon {
    func record() {
        guard !isRecording else { return }
        for message in mailbox.take(timeout: .zero) ?? [] { ledger.take(message, at: Clocks.steady) }
        guard ledger.isDue(share: limits.budget.checkpointShare, at: Clocks.steady) else {
            if let due = ledger.policy.dueAt { after(due - Clocks.steady) { self.record() } }
            return
        }
        isRecording = true
        for (source, counts) in ledger.takeUncounted() {
            limits.fuses.record(counts, from: source.provider, of: source.key)
        }
        write(
            ledger.begin(databaseNow: context.lease.databaseNow, heedFuse: { limits.heedFuse(&$0, waking: Bell()) })[
                ...
            ]
        )
    }

    private func write(_ rest: ArraySlice<RecordLedger.Write>) {
        guard let write = rest.first else {
            ledger.wrote(at: Clocks.steady)
            isRecording = false
            return record()
        }
        run(recording) { rows in
            switch write {
            case .close(let statement, _): _ = rows.apply(statement)
            case .checkpoint(let statement, _): _ = rows.apply(statement)
            case .release(let statement, _): _ = rows.apply(statement)
            }
        } answered: { (done: Void?) in
            if done != nil { self.limits.release(self.ledger.done(write)) }
            self.write(rest.dropFirst())
        }
    }
}
