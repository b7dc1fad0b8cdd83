internal import CoreMetrics
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// A sender thread's state: queues by lane, what is in flight, and the transport.
///
/// Used by that thread alone.
struct SenderState {
    struct Slot {
        var active: ActiveBatch
        var delivery: Int
        var generation: Int
        /// The breakers that wait for its answer.
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
    /// How many requests to each device were not answered yet, where devices share services.
    var inFlight: [Int64: Int] = [:]
    /// The services that take no more in this turn.
    var full: Set<Endpoint> = []
    /// Since when what waits for a place or a topic has seen nothing go there and no answer come (steady clock).
    var quietSince: [BreakerScope: Microseconds] = [:]
    /// When what waits was last looked at.
    var checkedAt: Microseconds = 0
    /// When batches that only wait for services that cannot be reached are looked at again.
    var pace = ReturnPace()
    /// Nothing is sent any more: what the transport gives back goes back to the queue.
    var isDraining = false
    /// What was last said of failed connects since a connection stood.
    var toldFailure = ""
    var failedConnects = 0
    var established: UInt64 = 0
    var lost: UInt64 = 0
    var isBlocked = false
    /// Whether a batch left its queue since the claimer was told.
    var hasRoom = false
    var footing = Footing()
    /// The first deadline to come of what is in flight, in database time.
    var nextDeadline = Microseconds.max
    /// Whether what is decided without a request is logged; looked up at the first one of a turn.
    var logsDecisions: Bool?
    /// The last report about breakers; nil before the first, so that a new sender replaces the report of an earlier one.
    private var told: BreakerReport?
    private var gauges: TransportGauges
    /// Its thread's.
    var name = ""
    /// Wakes this thread's poll; registered where W is used up.
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

    /// Takes in batches.
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

    /// One turn: submit what may be submitted, wait for answers, pass them on.
    mutating func turn() {
        isBlocked = false
        logsDecisions = nil
        reconsider()
        fill()
        checkWaiting()
        if hasRoom {
            // First what was submitted goes out: on a machine with few processors the claimer would take this thread's.
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

    /// Submits nothing more, waits for what is in flight, and gives back the rest.
    mutating func drain() {
        isDraining = true
        for queue in SendQueue.allCases {
            for active in queues[queue] ?? [] { leaveOver(active) }
        }
        queues = [:]
        report()
        // What waits for a connection goes back as well.
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

    /// Logs what opened or closed, whichever thread saw it, and tells `fanfare status`.
    private mutating func watchBreaker() {
        for change in shared.breakers.takeChanges() { change.tell(to: context.logger, about: target) }
        let report = BreakerReport(shared.breakers.standing)
        guard report != told else { return }
        told = report
        context.status.breaker("\(target.app)/\(target.provider)/\(target.environment)", report)
    }
}
