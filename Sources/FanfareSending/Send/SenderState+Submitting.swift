internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// The submission of requests: the order of lanes, the breakers' admission, and the budgets.
extension SenderState {
    /// The number of deliveries that are admitted, charged and submitted together.
    private static let chunk = 64
    /// The divisor for free streams: bulk leaves two in this many streams free, normal leaves one.
    private static let keptShare = 32

    /// Deliveries of one batch to one destination that are submitted together.
    private struct Chunk {
        let line: Int
        let credential: Credential
        /// The maximum number of deliveries.
        var size: Int
        /// The steady time after which no request may start.
        let end: Microseconds
        /// The breakers that wait for the result.
        var probed: [BreakerScope] = []
    }

    /// The progress with a batch.
    private enum Progress {
        /// Some of its deliveries were submitted or decided.
        case some
        /// Its remaining deliveries are held back by their services' breakers; other batches may be sent.
        case held
        /// Nothing more of this queue can be sent now.
        case stopped
    }

    mutating func fill() {
        full.removeAll(keepingCapacity: true)
        // A broadcast yields to other lanes, but keeps at least 5 % of the free streams.
        let bulk = hasWork(.bulk) ? max(1, transport.freeSlots / 20) : 0
        // It does not take the last streams, because a one-off would then wait for the answer to one of its pushes.
        let kept = transport.isGrowing ? 0 : (transport.freeSlots + transport.inFlight) / Self.keptShare
        fill(.transactional, leaving: bulk)
        fill(.normal, leaving: max(bulk, kept))
        fill(.bulk, leaving: 2 * kept)
    }

    private mutating func fill(_ lane: Lane, leaving: Int) {
        // Retries come first: their budget admits only a few, and those it holds back delay no other delivery.
        for isRetry in [true, false] { fill(SendQueue(lane: lane, isRetry: isRetry), leaving: leaving) }
        if !hasWork(lane) { budget.setWork(false, for: key, lane: lane) }
    }

    private func hasWork(_ lane: Lane) -> Bool {
        queues.contains { $0.key.lane == lane && !$0.value.isEmpty }
    }

    private mutating func fill(_ queue: SendQueue, leaving: Int) {
        var place = 0
        while let waiting = queues[queue], place < waiting.count, transport.freeSlots > leaving {
            let active = waiting[place]
            guard context.lease.submitsUntil(owner: active.batch.owner) > Clocks.steady else {
                // The lease has ended; the batch continues under its next claim.
                leaveOver(active)
                queues[queue]?.remove(at: place)
                continue
            }
            // The lease is valid, but newer cancellations must be read first, which the controller does.
            guard context.lease.startsUntil(owner: active.batch.owner) > Clocks.steady else { break }
            let room = min(transport.freeSlots - leaving, Self.chunk)
            switch submit(from: active, in: queue, upTo: room) {
            case .some: break
            case .held:
                place += 1
                continue
            case .stopped: return
            }
            if active.remaining == 0 {
                leaveQueue(active)
                queues[queue]?.remove(at: place)
            }
        }
    }

    private mutating func submit(from active: ActiveBatch, in queue: SendQueue, upTo room: Int) -> Progress {
        let now = Clocks.steady
        let end = context.lease.startsUntil(owner: active.batch.owner)
        guard let credential = currentCredential(now) else { return .stopped }
        var progress = Progress.held
        if shared.hasManyOrigins { active.separate(shared.breakers.heldDevices) }
        for line in active.lines.indices where !active.lines[line].waiting.isEmpty {
            var chunk = Chunk(line: line, credential: credential, size: room, end: end)
            if let refusing = admit(&chunk, from: active, at: now) {
                if refusing == .provider { return .stopped }
                continue
            }
            let used = pay(for: chunk, from: active, in: queue)
            if used ?? 0 == 0 { giveUpProbes(chunk, at: now) }
            guard used != nil else { return .stopped }
            progress = .some
            // Other destinations are tried in the next iteration, with the remaining slots.
            break
        }
        return progress
    }

    /// Reduces a chunk to the size that its destination and topic admit.
    ///
    /// - Returns: the scope that admits nothing now; nil if a request may be sent.
    private mutating func admit(_ chunk: inout Chunk, from active: ActiveBatch, at now: Microseconds) -> BreakerScope? {
        let line = active.lines[chunk.line]
        guard let next = line.waiting.last else { return line.scopes.last }
        let push = active.batch.place(of: active.batch.deliveries[next])
        if let origin = line.origin {
            guard !full.contains(origin) else { return .origin(origin) }
            chunk.size = min(chunk.size, transport.freeSlots(for: origin))
            if let device = line.device, chunk.size > 0, !leavesRoom(device, free: transport.freeSlots(for: origin)) {
                return hold(.device(device), at: now)
            }
        }
        for scope in line.scopes {
            // If the destination has no free slot, only its own scope matters.
            let scope = chunk.size > 0 ? scope : line.scopes[line.scopes.count - 1]
            switch chunk.size > 0 ? shared.breakers.admit(scope, for: push, at: now) : .awaitsProbe {
            case .all: if scope != .provider { quietSince[scope] = nil }
            case .probe:
                chunk.size = 1
                chunk.probed.append(scope)
            case .nothing, .awaitsProbe:
                if let origin = line.origin, scope == .origin(origin) { full.insert(origin) }
                giveUpProbes(chunk, at: now)
                return hold(scope, at: now)
            }
        }
        return nil
    }

    /// Records since when nothing is sent to a scope.
    private mutating func hold(_ scope: BreakerScope, at now: Microseconds) -> BreakerScope {
        if quietSince[scope] == nil { quietSince[scope] = now }
        return scope
    }

    /// Returns whether a device that shares its service with others may have one more request in flight.
    ///
    /// It may never have more than are left for others, so a device that does not answer leaves half of the streams
    /// free, and a second one half of those.
    private func leavesRoom(_ device: Int64, free: Int) -> Bool { inFlight[device, default: 0] < free }

    /// Releases the probes of a chunk that is not sent, so that another push can be the probe.
    private func giveUpProbes(_ chunk: Chunk, at now: Microseconds) {
        for scope in chunk.probed { shared.breakers.update(scope) { $0.probeEnded(.neutral, at: now) } }
    }

    /// - Returns: the number of submitted requests; nil if the in-flight budget or the retry budget has no room.
    private mutating func pay(for chunk: Chunk, from active: ActiveBatch, in queue: SendQueue) -> Int? {
        let now = Clocks.steady
        let size = min(chunk.size, active.lines[chunk.line].waiting.count)
        let wanted = queue.isRetry ? shared.retries.withLock { $0.take(size, at: now) } : size
        guard wanted > 0 else { return nil }
        let granted = budget.acquire(wanted, for: key, lane: queue.lane)
        guard granted > 0 else {
            if !isBlocked { budget.whenReleased(for: name, whenBlocked) }
            isBlocked = true
            return nil
        }
        transport.sendUntil = Clocks.instant(ofSteady: chunk.end)
        var paid = chunk
        paid.size = granted
        let used = submit(paid, from: active)
        if used < granted { budget.release([BudgetShare(key: key, lane: queue.lane): granted - used]) }
        return used
    }

    /// - Returns: the number of granted requests that were submitted.
    private mutating func submit(_ chunk: Chunk, from active: ActiveBatch) -> Int {
        active.refresh(orders.cancels)
        let databaseNow = context.lease.databaseNow
        let room = active.lines[chunk.line].origin.map { transport.freeSlots(for: $0) }
        var requests: [PushRequest] = []
        requests.reserveCapacity(chunk.size)
        while requests.count < chunk.size, let index = active.takeNext(of: chunk.line) {
            let delivery = active.batch.deliveries[index]
            if let outcome = active.decision(delivery, now: databaseNow) {
                decide(delivery, of: active, DeliveryResult(position: delivery.position, outcome: outcome))
                continue
            }
            if let room, !leavesRoom(active.batch.device(of: delivery), free: room - requests.count) {
                let isApart = active.lines[chunk.line].device != nil
                active.quarantined(index, isNext: isApart)
                if isApart { break }
                continue
            }
            let slot = Slot(
                active: active,
                delivery: index,
                generation: chunk.credential.generation,
                probed: chunk.probed
            )
            guard let request = write(delivery, in: slot, credential: chunk.credential) else { continue }
            if room != nil { inFlight[active.batch.device(of: delivery), default: 0] += 1 }
            requests.append(request)
        }
        let taken = transport.submit(requests[...])
        precondition(taken == requests.count, "a transport took fewer requests than it had slots")
        return taken
    }

    /// Assigns a slot to a delivery and writes its request; returns nil if it can never be sent.
    private mutating func write(_ delivery: PreparedDelivery, in slot: Slot, credential: Credential) -> PushRequest? {
        let active = slot.active
        let tag = takeSlot(slot)
        do throws(RequestProblem) {
            let request = try writer.write(
                tag: UInt64(tag),
                delivery,
                content: active.batch.variants[Int(delivery.variant)].content,
                heads: active.heads,
                credential: credential
            )
            nextDeadline = min(nextDeadline, active.deadline(ofDelivery: slot.delivery))
            return request
        } catch {
            slots[tag] = nil
            freeSlots.append(tag)
            let claimed = active.batch.claimed
            let why = active.batch.rule.refusal(because: error.why)
            recorder.put(.refused(claimed.claim, eventID: claimed.eventID(at: Int(delivery.position)), why: why))
            decide(delivery, of: active, DeliveryResult(position: delivery.position, outcome: .refused))
            return nil
        }
    }

    /// Records an outcome without a request.
    mutating func decide(_ delivery: PreparedDelivery, of active: ActiveBatch, _ result: DeliveryResult) {
        note(active, result, slots: 0)
        let isLogged = logsDecisions ?? context.logsDecisions
        logsDecisions = isLogged
        if isLogged { context.logDecision(active.batch.line(about: delivery, result.outcome)) }
    }

    private mutating func takeSlot(_ slot: Slot) -> Int {
        if let free = freeSlots.popLast() {
            slots[free] = slot
            return free
        }
        slots.append(slot)
        return slots.count - 1
    }

    private func currentCredential(_ now: Microseconds) -> Credential? {
        do {
            return try shared.settings.pool.access.credential(at: now, wall: Clocks.wall)
        } catch {
            let metadata = target.metadata([.error: "\(error)"])
            context.logger.error("a provider token could not be signed", metadata: metadata)
            return nil
        }
    }
}
