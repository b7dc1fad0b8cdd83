internal import FanfareCore
internal import Logging
internal import PushTransport
internal import Threading

/// A sender thread's state: queues by lane, what is in flight, and the transport.
///
/// Used by that thread alone.
struct SenderDesk {
    /// Pairs that are admitted, paid for and submitted together.
    private static let chunk = 64
    /// A broadcast leaves two in this many streams free, what else is not urgent leaves one.
    private static let keptShare = 32

    struct Slot {
        var active: ActiveBatch
        var pair: Int
        var generation: Int
        var isProbe: Bool
    }

    let shared: SenderShared
    let context: StageContext
    let recorder: Mailbox<RecorderMessage>
    let transport: any PushTransport
    private let writer: any RequestWriter
    private let key: ProviderKey

    private var queues: [SendQueue: [ActiveBatch]] = [:]
    var slots: [Slot?] = []
    var freeSlots: [Int] = []
    var answers: [PushAnswer] = []
    var touched: [ActiveBatch] = []
    var failedConnects = 0
    var established: UInt64 = 0
    var lost: UInt64 = 0
    private var isBlocked = false
    /// Whether a batch left its queue since the claimer was told.
    private var hasRoom = false
    var footing = Footing()
    /// The first deadline to come of what is in flight, in database time.
    var nextDeadline = Microseconds.max
    private var breakerWord = "closed"
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
        key = ProviderKey(app: shared.settings.target.app, provider: shared.settings.target.platform)
    }

    /// Takes in batches.
    mutating func accept(_ batches: [PreparedBatch]) {
        for batch in batches { queues[batch.claimed.queue, default: []].append(ActiveBatch(batch)) }
    }

    /// One turn: submit what may be submitted, wait for answers, pass them on.
    mutating func turn() {
        isBlocked = false
        reconsider()
        fill()
        if hasRoom {
            // First what was submitted goes out: on a machine with few processors the claimer would take this thread's.
            poll(.zero)
            context.bells.claim.ring()
            hasRoom = false
        }
        let hasWork = queues.values.contains { !$0.isEmpty }
        let wait: Duration = transport.inFlight > 0 ? .milliseconds(50) : hasWork ? .milliseconds(20) : .seconds(1)
        poll(wait)
        report()
        watchBreaker()
    }

    /// Submits nothing more, waits for what is in flight, and gives back the rest.
    mutating func drain() {
        for queue in SendQueue.allCases {
            for active in queues[queue] ?? [] { leaveOver(active) }
        }
        queues = [:]
        report()
        while transport.inFlight > 0 {
            poll(.milliseconds(100))
            report()
        }
        transport.close(into: &answers)
        takeAnswers()
        report()
    }

    /// Logs when the breaker opens or closes, and tells `fanfare status`.
    private mutating func watchBreaker() {
        let word = shared.breakers.isAnyOpen ? "open" : "closed"
        guard word != breakerWord else { return }
        breakerWord = word
        let target = shared.settings.target
        context.status.breaker("\(target.app)/\(target.platform)/\(target.environment)", word)
        if word == "open" {
            context.logger.warning("a provider fails; only probes are sent", metadata: metadata([:]))
        } else {
            context.logger.notice("a provider works again", metadata: metadata([:]))
        }
    }

    // MARK: Submitting

    private mutating func fill() {
        // A broadcast gives way, but never altogether: at least 5 % of the free streams are its own.
        let bulk = hasWork(.bulk) ? max(1, transport.freeSlots / 20) : 0
        // Nor does it take the last ones: a one-off would wait for the answer to one of its pushes.
        let kept = transport.isGrowing ? 0 : (transport.freeSlots + transport.inFlight) / Self.keptShare
        fill(.transactional, leaving: bulk)
        fill(.normal, leaving: max(bulk, kept))
        fill(.bulk, leaving: 2 * kept)
    }

    private mutating func fill(_ lane: Lane, leaving: Int) {
        // Retries first: there are few that their budget lets through, and what it holds back holds up nobody else.
        for isRetry in [true, false] { fill(SendQueue(lane: lane, isRetry: isRetry), leaving: leaving) }
        if !hasWork(lane) { context.budget.setWork(false, for: key, lane: lane) }
    }

    private func hasWork(_ lane: Lane) -> Bool {
        queues.contains { $0.key.lane == lane && !$0.value.isEmpty }
    }

    private mutating func fill(_ queue: SendQueue, leaving: Int) {
        while let active = queues[queue]?.first, transport.freeSlots > leaving {
            guard context.lease.submitsUntil(owner: active.batch.owner) > Clocks.steady else {
                // No longer ours to send: whoever claims it next goes on.
                leaveOver(active)
                queues[queue]?.removeFirst()
                continue
            }
            // Ours, but somebody may have cancelled it by now: the controller looks.
            guard context.lease.startsUntil(owner: active.batch.owner) > Clocks.steady else { break }
            let room = min(transport.freeSlots - leaving, Self.chunk, active.remaining)
            guard submit(from: active, in: queue, upTo: room) else { break }
            if active.remaining == 0 {
                leaveQueue(active)
                queues[queue]?.removeFirst()
            }
        }
    }

    /// - Returns: false if nothing more of this queue can be sent now.
    private mutating func submit(from active: ActiveBatch, in queue: SendQueue, upTo room: Int) -> Bool {
        guard room > 0 else { return true }
        let now = Clocks.steady
        let end = context.lease.startsUntil(owner: active.batch.owner)
        guard let credential = currentCredential(now) else { return false }
        var wanted = room
        var isProbe = false
        switch shared.breakers.admit(nil, at: now) {
        case .all: break
        case .probe: (wanted, isProbe) = (1, true)
        case .nothing, .awaitsProbe: return false
        }
        let used = pay(for: wanted, from: active, in: queue, credential: credential, isProbe: isProbe, end: end)
        if isProbe && used ?? 0 == 0 { shared.breakers.update(nil) { $0.probeEnded(.neutral, at: now) } }
        return used != nil
    }

    /// - Returns: how many requests were submitted; nil if W, the retry budget or an origin has no room left.
    private mutating func pay(
        for room: Int,
        from active: ActiveBatch,
        in queue: SendQueue,
        credential: Credential,
        isProbe: Bool,
        end: Microseconds
    ) -> Int? {
        let now = Clocks.steady
        let wanted = queue.isRetry ? shared.retries.withLock { $0.take(room, at: now) } : room
        guard wanted > 0 else { return nil }
        let granted = context.budget.acquire(wanted, for: key, lane: queue.lane)
        guard granted > 0 else {
            if !isBlocked { context.budget.whenReleased(whenBlocked) }
            isBlocked = true
            return nil
        }
        transport.sendUntil = Clocks.instant(ofSteady: end)
        let used = submit(from: active, credential: credential, granted: granted, isProbe: isProbe)
        if used < granted { context.budget.release([BudgetShare(key: key, lane: queue.lane): granted - used]) }
        return used == 0 && active.remaining > 0 ? nil : used
    }

    /// - Returns: how many of the granted requests were submitted.
    private mutating func submit(
        from active: ActiveBatch,
        credential: Credential,
        granted: Int,
        isProbe: Bool
    ) -> Int {
        active.refresh(context.cancels)
        let databaseNow = context.lease.databaseNow
        var requests: [PushRequest] = []
        requests.reserveCapacity(granted)
        var chosen: [Endpoint: Int] = [:]
        while requests.count < granted && active.remaining > 0 {
            let index = active.next
            let pair = active.batch.pairs[index]
            var isProbe = isProbe
            if let origin = pair.address.origin {
                guard transport.freeSlots(for: origin) > chosen[origin] ?? 0 else { break }
                switch shared.breakers.admit(origin, at: Clocks.steady) {
                case .all: break
                case .probe: isProbe = true
                // Others of the batch go elsewhere: they do not wait for a service that fails.
                case .nothing(let until):
                    active.next += 1
                    note(active, unsent(pair, of: active.batch, until: until), slots: 0)
                    continue
                case .awaitsProbe:
                    active.next += 1
                    note(active, unsent(pair, of: active.batch), slots: 0)
                    continue
                }
                chosen[origin, default: 0] += 1
            }
            active.next += 1
            if let outcome = active.decision(pair, now: databaseNow) {
                note(active, PairResult(position: pair.position, outcome: outcome), slots: 0)
                continue
            }
            let slot = Slot(active: active, pair: index, generation: credential.generation, isProbe: isProbe)
            let tag = takeSlot(slot)
            do throws(RequestProblem) {
                requests.append(try writer.write(tag: UInt64(tag), pair, of: active, credential: credential))
                nextDeadline = min(nextDeadline, active.deadline(ofPair: index))
            } catch {
                slots[tag] = nil
                freeSlots.append(tag)
                note(active, PairResult(position: pair.position, outcome: error.outcome), slots: 0)
            }
        }
        active.outstanding += requests.count
        let taken = transport.submit(requests[...])
        precondition(taken == requests.count, "a transport took fewer requests than it had slots")
        context.counters.add { [count = Int64(taken)] in $0.requests += count }
        return taken
    }

    /// What becomes of a pair whose service is not to be asked now, or not before some steady time.
    private func unsent(_ pair: PreparedPair, of batch: PreparedBatch, until end: Microseconds = 0) -> PairResult {
        let retry = Retry(pace: .repeatedly, floor: max(0, end - Clocks.steady), isFree: true)
        let verdict = Verdict(.retryingNotSent, .retry(retry))
        return AnswerJudge(shared: shared, context: context).result(verdict, pair: pair, batch: batch)
    }

    private mutating func takeSlot(_ slot: Slot) -> Int {
        if let free = freeSlots.popLast() {
            slots[free] = slot
            return free
        }
        slots.append(slot)
        return slots.count - 1
    }

    private mutating func leaveQueue(_ active: ActiveBatch) {
        shared.waiting.withLock { $0[active.batch.claimed.queue, default: 0] -= 1 }
        hasRoom = true
    }

    /// Gives the pairs that were not submitted back to the queue; those in flight are still recorded.
    private mutating func leaveOver(_ active: ActiveBatch) {
        let unsent = active.batch.pairs[active.next...].map(\.position)
        active.next = active.batch.pairs.count
        leaveQueue(active)
        recorder.put(.abandoned(active.batch.claimed.claim, unsent: unsent))
    }

    private func currentCredential(_ now: Microseconds) -> Credential? {
        do {
            return try shared.settings.access.credential(at: now, wall: Clocks.wall)
        } catch {
            context.logger.error("a provider token could not be signed", metadata: .init([.error: "\(error)"]))
            return nil
        }
    }
}
