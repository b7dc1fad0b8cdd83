internal import CoreMetrics
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
    private let links: SenderLinks
    private let inbox = Mailbox<PreparedBatch>()
    private let waker = Locked<(any TransportWaker)?>(nil)
    /// The time without work after which a sender looks less often.
    private static let rest = 5 * Micros.second
    /// The free descriptors that a starting sender leaves for connections and the rest of the daemon; if senders used
    /// them all, none could send.
    private static let headroom = 16
    /// Held while a sender starts: otherwise eighty at once would each find enough descriptors.
    private static let starting = Locked(())
    private static let runningCount = Locked(0)

    init(index: Int, shared: SenderShared, links: SenderLinks) {
        let target = shared.settings.target
        self.index = index
        name = "send-\(target.app)-\(target.provider)-\(target.environment)-\(index)"
        (self.shared, self.links) = (shared, links)
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
            links.context.pulses.rest(name)
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
        var state = SenderState(shared: shared, links: links, transport: made.transport, writer: made.writer)
        state.name = name
        state.whenBlocked = { [weak self] in self?.wake() }
        state.isFull = { [weak pool] in pool?.room($0) == 0 }
        var lastBusy = Clocks.steady
        while let batches = inbox.take(timeout: .zero) {
            links.context.pulses.beat(name)
            state.accept(batches)
            state.turn()
            let now = Clocks.steady
            if state.isIdle { pool.isIdle(self, for: now - lastBusy) } else { lastBusy = now }
            state.isResting = now - lastBusy >= Self.rest
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
            links.recorder.put(.givenBack(batch))
        }
    }
}

private struct NoDescriptors: Error, CustomStringConvertible {
    var description: String { "Too many open files; raise LimitNOFILE= of the daemon's unit, or ulimit -Hn" }
}

/// The state of a sender thread: queues by lane, requests in flight, and the transport.
///
/// It is used by that thread alone.
struct SenderState {
    struct Slot {
        var active: ActiveBatch
        var delivery: Int
        var generation: Int
        /// The breakers that wait for the answer.
        var probed: [BreakerScope]
    }

    let shared: SenderShared
    let context: StageContext
    let orders: Orders
    let budget: InFlightBudget
    let recorder: Mailbox<RecorderMessage>
    let transport: any PushTransport
    let writer: any RequestWriter
    let key: ProviderKey
    let target: Target
    let requests: Counter
    private let claimer: Bell

    var queues: [SendQueue: [ActiveBatch]] = [:]
    var slots: [Slot?] = []
    var freeSlots: [Int] = []
    var answers: [PushAnswer] = []
    var touched: [ActiveBatch] = []
    /// The number of unanswered requests to each device, if devices share services.
    var inFlight: [Int64: Int] = [:]
    /// The services that take no more requests in this turn.
    var full: Set<Endpoint> = []
    /// Since when nothing was sent to a scope with waiting deliveries, and no answer came from it (steady clock).
    var quietSince: [BreakerScope: Microseconds] = [:]
    /// When waiting deliveries were last checked.
    var checkedAt: Microseconds = 0
    /// The delay after which batches that only wait for unreachable services may be claimed again.
    var pace = ReturnPace()
    /// Whether the sender is stopping: requests that the transport returns go back to the queue.
    var isDraining = false
    /// The last logged connect failure since a connection was established.
    var toldFailure = ""
    var failedConnects = 0
    var established: UInt64 = 0
    var lost: UInt64 = 0
    var isBlocked = false
    /// Whether a full queue got room since the claimer was last woken.
    var hasRoom = false
    /// Returns whether the pool has no room for another batch of a queue.
    var isFull: (SendQueue) -> Bool = { _ in true }
    var footing = Footing()
    /// The earliest future deadline of the requests in flight, in database time.
    var nextDeadline = Microseconds.max
    /// Whether deliveries decided by Fanfare are logged; read at the first one of a turn.
    var logsDecisions: Bool?
    /// The last report about breakers; nil at first, so that a new sender replaces the report of an earlier one.
    private var told: BreakerReport?
    private var gauges: TransportGauges
    /// The name of the thread.
    var name = ""
    /// Whether there has been no work for a while.
    var isResting = false
    /// Wakes this thread's poll; registered when the in-flight budget is used up.
    var whenBlocked: @Sendable () -> Void = {}

    init(shared: SenderShared, links: SenderLinks, transport: any PushTransport, writer: any RequestWriter) {
        (self.shared, self.transport, self.writer) = (shared, transport, writer)
        (context, orders, budget) = (links.context, links.orders, links.budget)
        (recorder, claimer) = (links.recorder, links.claimer)
        target = shared.settings.target
        requests = links.counters.requests(to: target)
        gauges = TransportGauges(of: target, links.counters.metrics)
        key = ProviderKey(app: shared.settings.target.app, provider: shared.settings.target.provider)
    }

    /// Queues batches, or gives them back if their gate is closed or their preferences are outdated.
    mutating func accept(_ batches: [PreparedBatch]) {
        guard !batches.isEmpty else { return }
        let current = orders.current
        for batch in batches {
            let active = ActiveBatch(batch)
            if current.stop(batch) {
                leaveOver(active)
            } else {
                queues[batch.claimed.queue, default: []].append(active)
            }
        }
    }

    /// Runs one turn: submits requests, waits for answers, passes results on.
    mutating func turn() {
        isBlocked = false
        logsDecisions = nil
        reconsider()
        fill()
        checkWaiting()
        if hasRoom {
            // Submitted requests are sent first: with few processors the claimer would preempt this thread.
            poll(.zero)
            claimer.ring()
            hasRoom = false
        }
        checkTransport()
        let hasWork = queues.values.contains { !$0.isEmpty }
        // The client of many origins does not wake for a lost connection, of which the gauges tell within a second.
        let idle = Duration.seconds(isResting && !shared.hasManyOrigins ? 5 : 1)
        poll(transport.inFlight > 0 ? .milliseconds(50) : hasWork ? .milliseconds(20) : idle)
        report()
        watchBreaker()
        context.frequentLines.tellLeftOut(to: context.logger)
    }

    /// Whether no batch waits and no request is in flight.
    var isIdle: Bool { transport.inFlight == 0 && queues.values.allSatisfy(\.isEmpty) }

    /// Stops submitting, waits for the requests in flight, and gives back the rest.
    mutating func drain() {
        isDraining = true
        for queue in SendQueue.allCases {
            for active in queues[queue] ?? [] { leaveOver(active) }
        }
        queues = [:]
        report()
        // Requests that wait for a connection are returned as well.
        transport.sendUntil = Clocks.instant(ofSteady: Clocks.steady)
        while transport.inFlight > 0 {
            poll(.milliseconds(100))
            report()
        }
        transport.close(into: &answers)
        takeAnswers()
        report()
        gauges.withdraw()
        context.frequentLines.tellLeftOut(to: context.logger, at: .max)
    }

    private mutating func checkTransport() {
        guard gauges.isDue(at: Clocks.steady) else { return }
        let state = transport.state
        gauges.tell([state.open, state.opening, state.draining, transport.inFlight])
    }

    /// Logs breakers that opened or closed, on any thread of the pool, and reports the state to `fanfare status`.
    private mutating func watchBreaker() {
        for change in shared.breakers.takeChanges() { change.tell(to: context.logger, about: target) }
        let report = BreakerReport(shared.breakers.standing)
        guard report != told else { return }
        told = report
        context.status.breaker("\(target.app)/\(target.provider)/\(target.environment)", report)
    }
}
