internal import CoreMetrics
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

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
    let recorder: Mailbox<RecorderMessage>
    let transport: any PushTransport
    let writer: any RequestWriter
    let key: ProviderKey
    let target: Target
    let requests: Counter

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
    /// Whether a batch left its queue since the claimer was last woken.
    var hasRoom = false
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
    /// Wakes this thread's poll; registered when the in-flight budget is used up.
    var whenBlocked: @Sendable () -> Void = {}

    init(
        shared: SenderShared,
        context: StageContext,
        recorder: Mailbox<RecorderMessage>,
        transport: any PushTransport,
        writer: any RequestWriter
    ) {
        self.shared = shared
        self.context = context
        self.recorder = recorder
        self.transport = transport
        self.writer = writer
        target = shared.settings.target
        requests = context.counters.requests(to: target)
        gauges = TransportGauges(of: target, context.counters.metrics)
        key = ProviderKey(app: shared.settings.target.app, provider: shared.settings.target.provider)
    }

    /// Queues batches, or gives them back if their gate is closed or their preferences are outdated.
    mutating func accept(_ batches: [PreparedBatch]) {
        for batch in batches {
            let active = ActiveBatch(batch)
            if context.gates.isClosed(batch.claimed.gate) || batch.isOutdated(context.preferences) {
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
            context.bells.claim.ring()
            hasRoom = false
        }
        checkTransport()
        let hasWork = queues.values.contains { !$0.isEmpty }
        let wait: Duration = transport.inFlight > 0 ? .milliseconds(50) : hasWork ? .milliseconds(20) : .seconds(1)
        poll(wait)
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
