internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PushTransport
internal import Threading

/// The handling of requests that are submitted, but not sent yet.
extension SenderState {
    /// The state under which requests that wait for a connection were submitted.
    struct Footing: Equatable {
        var owner: Int32?
        var cancels = 0
        var gates = 0
        var preferences = 0
    }

    /// Lets submitted requests wait for a connection, or takes them back if they may no longer be sent: the lease, a
    /// cancellation, a deadline, a gate or a preference may have changed.
    ///
    /// A request that is taken back abandons the connection that libcurl opens for it. If requests were taken back at
    /// every check for cancellations, a connection that takes longer than the interval would never open.
    mutating func reconsider() {
        let (last, current) = (footing, orders.current)
        footing = Footing(
            owner: context.lease.owner ?? last.owner,
            cancels: orders.cancels.version,
            gates: current.gates.version,
            preferences: current.preferences.version
        )
        defer {
            if footing.gates != last.gates || footing.preferences != last.preferences { leave(where: current.stop) }
        }
        guard transport.inFlight > 0, let owner = footing.owner else { return }
        let isAnyLate = passDeadlines()
        if !isAnyLate && (footing == last || owner == last.owner && !isAnyStopped(by: current)) {
            transport.sendUntil = Clocks.instant(ofSteady: context.lease.startsUntil(owner: owner))
        } else {
            transport.sendUntil = Clocks.instant(ofSteady: Clocks.steady)
            poll(.zero)
        }
    }

    /// Returns whether a deadline of a request in flight has passed since the last check.
    private mutating func passDeadlines() -> Bool {
        let now = context.lease.databaseNow
        guard nextDeadline <= now else { return false }
        nextDeadline = slots.reduce(.max) { first, slot in
            guard let slot else { return first }
            let deadline = slot.active.deadline(ofDelivery: slot.delivery)
            return deadline > now ? min(first, deadline) : first
        }
        return true
    }

    /// Returns whether any request in flight is cancelled, behind a closed gate, or prepared with outdated preferences.
    private func isAnyStopped(by current: OrderSnapshot) -> Bool {
        slots.contains { slot in
            guard let active = slot?.active else { return false }
            guard !current.stop(active.batch) else { return true }
            active.refresh(orders.cancels)
            return active.isAnyCancelled
        }
    }
}

/// The handling of deliveries that are not submitted yet.
extension SenderState {
    /// The time without requests and answers after which a scope counts as quiet, and its deliveries as held up.
    private static let quiet = 2 * Micros.second
    /// The maximum number of scopes whose quiet time is remembered.
    private static let quietLimit = 10_000
    /// How often waiting deliveries are checked.
    private static let checkInterval = Micros.second / 4
    /// The time after which a waiting batch is given back, so that its data is read again.
    private static let longestWait = 10 * Micros.second

    /// Gives back the waiting batches that match a condition.
    private mutating func leave(where isOver: (PreparedBatch) -> Bool) {
        for (queue, waiting) in queues {
            let over = waiting.filter { isOver($0.batch) }
            guard !over.isEmpty else { continue }
            queues[queue] = waiting.filter { active in !over.contains { $0 === active } }
            for active in over { leaveOver(active) }
        }
    }

    /// Checks deliveries that cannot be sent now: they may be expired or cancelled, have outdated data, or block
    /// others.
    mutating func checkWaiting() {
        let now = Clocks.steady
        guard now - checkedAt >= Self.checkInterval else { return }
        checkedAt = now
        guard queues.contains(where: { !$0.value.isEmpty }) else { return quietSince = [:] }
        // With very many devices, a scope is recorded again when nothing is sent to it in this turn.
        if quietSince.count > Self.quietLimit { quietSince = [:] }
        if !shared.hasManyOrigins && quietSince[.provider] == nil { quietSince[.provider] = now }
        let since = now - Self.quiet
        guard quietSince.contains(where: { $0.value <= since }) else { return }
        for queue in SendQueue.allCases where queues[queue]?.isEmpty == false { checkWaiting(queue, at: now) }
    }

    private mutating func checkWaiting(_ queue: SendQueue, at now: Microseconds) {
        // At most half of the room is used by batches that wait for their service or topic; others use the rest.
        let heldDepth = isQuiet(.provider, at: now) ? .max : SenderPool.depth(queue) / 2
        var held = 0
        var kept: [ActiveBatch] = []
        for active in queues[queue] ?? [] {
            guard isQuiet(active, at: now) else {
                kept.append(active)
                continue
            }
            active.refresh(orders.cancels)
            for (index, outcome) in active.takeDecided(now: context.lease.databaseNow) {
                let delivery = active.batch.deliveries[index]
                decide(delivery, of: active, DeliveryResult(position: delivery.position, outcome: outcome))
            }
            held += 1
            if active.remaining == 0 {
                leaveQueue(active)
            } else if now - active.since >= Self.longestWait {
                leaveOver(active)
            } else if held > heldDepth {
                leaveOver(active, for: pace.delay(at: now))
            } else {
                kept.append(active)
            }
        }
        queues[queue] = kept
    }

    /// Returns whether all waiting deliveries of a batch go to quiet scopes, although the lease permits sending.
    private func isQuiet(_ active: ActiveBatch, at now: Microseconds) -> Bool {
        guard context.lease.startsUntil(owner: active.batch.owner) > now else { return false }
        return active.lines.allSatisfy { line in
            line.waiting.isEmpty || line.scopes.contains { isQuiet($0, at: now) }
        }
    }

    private func isQuiet(_ scope: BreakerScope, at now: Microseconds) -> Bool {
        quietSince[scope].map { $0 <= now - Self.quiet } ?? false
    }

    /// Queues a delivery again that the transport returned, or whose sender was rejected.
    ///
    /// - Parameters:
    ///   - slot: the slot of the request.
    ///   - isLast: whether others go first, so that the next probe is another push.
    mutating func putBack(_ slot: Slot, last isLast: Bool = false) {
        let active = slot.active
        for scope in slot.probed { shared.breakers.update(scope) { $0.probeEnded(.neutral, at: Clocks.steady) } }
        guard !active.isLeft && !isDraining else {
            let position = active.batch.deliveries[slot.delivery].position
            recorder.put(.abandoned(active.batch.claimed.claim, unsent: [position]))
            return
        }
        if active.remaining == 0 {
            let queue = active.batch.claimed.queue
            shared.waiting.withLock { $0[queue, default: 0] += 1 }
            queues[queue, default: []].insert(active, at: isLast ? queues[queue]?.count ?? 0 : 0)
        }
        active.putBack(slot.delivery, last: isLast)
    }

    /// Counts a batch as no longer waiting; the claimer is told only if there was no room for another one.
    mutating func leaveQueue(_ active: ActiveBatch) {
        let queue = active.batch.claimed.queue
        if !hasRoom { hasRoom = isFull(queue) }
        shared.waiting.withLock { $0[queue, default: 0] -= 1 }
    }

    /// Gives back the deliveries that were not submitted; those in flight are still recorded.
    ///
    /// - Parameters:
    ///   - active: the batch.
    ///   - delay: how long the deliveries must not be claimed.
    mutating func leaveOver(_ active: ActiveBatch, for delay: Microseconds = 0) {
        leaveQueue(active)
        recorder.put(.abandoned(active.batch.claimed.claim, unsent: active.leave(), delay: delay))
    }
}
