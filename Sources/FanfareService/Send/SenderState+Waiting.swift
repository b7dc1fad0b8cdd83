internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PushTransport
internal import Threading

/// What was submitted and is not on the wire yet.
extension SenderState {
    /// What requests that wait for a connection were submitted on.
    struct Footing: Equatable {
        var owner: Int32?
        var cancels = 0
        var gates = 0
        var preferences = 0
    }

    /// Lets what waits for a connection wait on, or takes it back: it may not be ours any more, be cancelled or too late, its
    /// gate be closed, or its user want something else.
    ///
    /// A request that is taken back gives up the connection that libcurl makes for it, so that one that takes longer than
    /// cancellations may go unseen would never be made.
    mutating func reconsider() {
        let last = footing
        footing = Footing(
            owner: context.lease.owner ?? last.owner,
            cancels: context.cancels.version,
            gates: context.gates.version,
            preferences: context.preferences.version
        )
        defer {
            if footing.gates != last.gates || footing.preferences != last.preferences {
                leave { [context] in context.gates.isClosed($0.claimed.gate) || $0.isOutdated(context.preferences) }
            }
        }
        guard transport.inFlight > 0, let owner = footing.owner else { return }
        let isAnyLate = passDeadlines()
        if !isAnyLate && (footing == last || owner == last.owner && !isAnyStopped()) {
            transport.sendUntil = Clocks.instant(ofSteady: context.lease.startsUntil(owner: owner))
        } else {
            transport.sendUntil = Clocks.instant(ofSteady: Clocks.steady)
            poll(.zero)
        }
    }

    /// Whether a deadline of what is in flight has passed since the last look.
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

    /// Whether anything in flight is cancelled, behind a gate that is closed, or was prepared for what users wanted before.
    private func isAnyStopped() -> Bool {
        slots.contains { slot in
            guard let active = slot?.active else { return false }
            guard !context.gates.isClosed(active.batch.claimed.gate), !active.batch.isOutdated(context.preferences)
            else {
                return true
            }
            active.refresh(context.cancels)
            return active.isAnyCancelled
        }
    }
}

/// What is not submitted yet.
extension SenderState {
    /// Where nothing went and no answer came for so long, what waits is not about to go.
    private static let quiet = 2 * Micros.second
    /// How many places it remembers.
    private static let quietLimit = 10_000
    /// How often what waits there is looked at.
    private static let checkInterval = Micros.second / 4
    /// What was read for a batch grows old: after so long it is given back, to be read anew.
    private static let longestWait = 10 * Micros.second

    /// Gives back some of what waits.
    private mutating func leave(where isOver: (PreparedBatch) -> Bool) {
        for (queue, waiting) in queues {
            let over = waiting.filter { isOver($0.batch) }
            guard !over.isEmpty else { continue }
            queues[queue] = waiting.filter { active in !over.contains { $0 === active } }
            for active in over { leaveOver(active) }
        }
    }

    /// Looks after what cannot be sent now: it may be too late or cancelled by now, grow old, or stand in others' way.
    mutating func checkWaiting() {
        let now = Clocks.steady
        guard now - checkedAt >= Self.checkInterval else { return }
        checkedAt = now
        guard queues.contains(where: { !$0.value.isEmpty }) else { return quietSince = [:] }
        // Of very many devices it is seen again in this turn where nothing goes.
        if quietSince.count > Self.quietLimit { quietSince = [:] }
        if !shared.hasManyOrigins && quietSince[.provider] == nil { quietSince[.provider] = now }
        let since = now - Self.quiet
        guard quietSince.contains(where: { $0.value <= since }) else { return }
        for queue in SendQueue.allCases where queues[queue]?.isEmpty == false { checkWaiting(queue, at: now) }
    }

    private mutating func checkWaiting(_ queue: SendQueue, at now: Microseconds) {
        // Half of the room may be taken by what waits for its service or its topic: others find the rest.
        let heldDepth = isQuiet(.provider, at: now) ? .max : SenderPool.depth(queue) / 2
        var held = 0
        var kept: [ActiveBatch] = []
        for active in queues[queue] ?? [] {
            guard isQuiet(active, at: now) else {
                kept.append(active)
                continue
            }
            active.refresh(context.cancels)
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

    /// Whether all of what waits of a batch goes where it is quiet, though it is ours to send.
    private func isQuiet(_ active: ActiveBatch, at now: Microseconds) -> Bool {
        guard context.lease.startsUntil(owner: active.batch.owner) > now else { return false }
        return active.lines.allSatisfy { line in
            line.waiting.isEmpty || line.scopes.contains { isQuiet($0, at: now) }
        }
    }

    private func isQuiet(_ scope: BreakerScope, at now: Microseconds) -> Bool {
        quietSince[scope].map { $0 <= now - Self.quiet } ?? false
    }

    /// Lets a delivery wait again that the transport gave back, or whose sender was refused.
    ///
    /// - Parameters:
    ///   - slot: what it had.
    ///   - isLast: whether others go first: the next probe is another push then.
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

    mutating func leaveQueue(_ active: ActiveBatch) {
        shared.waiting.withLock { $0[active.batch.claimed.queue, default: 0] -= 1 }
        hasRoom = true
    }

    /// Gives the deliveries that were not submitted back to the queue; those in flight are still recorded.
    ///
    /// - Parameters:
    ///   - active: its batch.
    ///   - delay: how long nobody is to claim it.
    mutating func leaveOver(_ active: ActiveBatch, for delay: Microseconds = 0) {
        leaveQueue(active)
        recorder.put(.abandoned(active.batch.claimed.claim, unsent: active.leave(), delay: delay))
    }
}
