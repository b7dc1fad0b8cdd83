import FanfareCore
import PostgresClient
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The simulation of `Claimer`.
extension VirtualDaemon {
    private static let sweepInterval = 5 * Micros.second
    private static let returnDelay = 5 * Micros.second
    private static let depth = 2

    func claim() {
        guard let owner = context.lease.owner else { return after(200 * Micros.millisecond) { self.claim() } }
        if claiming.id == nil { (floors, turns) = (ClaimFloors(), PacedTurns()) }
        giveBack(owner) {
            self.settle {
                self.obeyGates()
                self.passOnHeld { self.claimPaced(owner) { paced in self.claim(owner, beside: paced) } }
            }
        }
    }

    private func giveBack(_ owner: Int32, then next: @escaping () -> Void) {
        guard !left.isEmpty else { return next() }
        release(left, of: owner, for: Self.returnDelay) {
            self.left = []
            next()
        }
    }

    private func release(
        _ batches: [ClaimedBatch],
        of owner: Int32,
        for delay: Microseconds = 0,
        then next: @escaping () -> Void
    ) {
        let records = batches.map { BatchRecord(id: $0.id, leaseToken: $0.leaseToken, outcomes: []) }
        run(claiming) { rows in
            rows.apply(ReleaseBatches(owner: owner, batches: records, delay: delay))
        } answered: { count in
            guard count != nil else { return self.claim() }
            next()
        }
    }

    private func settle(then next: @escaping () -> Void) {
        let claims = doubts.due(at: Clocks.steady)
        guard !claims.isEmpty else { return next() }
        run(claiming) { rows in
            rows.apply(ReleaseClaims(claims: claims))
        } answered: { count in
            guard count != nil else { return self.claim() }
            self.doubts.gaveBack(at: Clocks.steady)
            next()
        }
    }

    private func obeyGates() {
        guard orders.current.gates.version != gatesSeen else { return }
        gatesSeen = orders.current.gates.version
        floors.forget()
        turns.forget()
        for waiting in held.all where orders.current.gates.isClosed(waiting.prepared.batch.claimed.gate) {
            let prepared = waiting.prepared
            mailbox.put(.opened(prepared.batch, decided: prepared.decided, window: 0))
            mailbox.put(.abandoned(prepared.batch.claimed.claim, unsent: prepared.batch.deliveries.map(\.position)))
            held.remove(waiting)
            after(0) { self.record() }
        }
    }

    /// The possible claims.
    var batchRequests: BatchRequests {
        BatchRequests(
            room: { target, queue in Self.depth - (self.senders[target.id]?.waiting(queue) ?? 0) },
            targets: targets.all.values.sorted { $0.id < $1.id },
            gates: orders.current.gates.open,
            rates: orders.current.rates
        )
    }

    /// Records a claim that is about to be sent.
    func begin(_ owner: Int32) -> DoubtfulClaim {
        leaseToken += 1
        let claim = DoubtfulClaim(owner: owner, leaseToken: leaseToken)
        doubts.began(claim, at: Clocks.steady)
        return claim
    }

    /// Records the response to a claim.
    func end(_ claim: DoubtfulClaim, _ claimed: [ClaimedBatch]) {
        doubts.answered(claim)
        for batch in claimed { floors.saw(batch) }
        left += claimed
    }

    private func claim(_ owner: Int32, beside paced: [ClaimedBatch]) {
        if floors.isSweepDue(at: Clocks.steady, every: Self.sweepInterval) { floors.sweep(at: Clocks.steady) }
        let now = context.lease.databaseNow
        let requests = batchRequests.requests(Lane.allCases, beside: paced, sparing: held, above: floors, now: now)
        let claim = begin(owner)
        run(claiming) { rows in
            requests.contains { $0.gate != 0 }
                ? rows.apply(ClaimGated(requests: requests, owner: owner, leaseToken: claim.leaseToken))
                : rows.apply(ClaimBatches(requests: requests, owner: owner, leaseToken: claim.leaseToken))
        } answered: { claimed in
            guard let claimed else { return self.claim() }
            self.end(claim, claimed)
            let all = paced + claimed
            guard !all.isEmpty else {
                var pause = self.world.chance.time(5 * Micros.millisecond...600 * Micros.millisecond)
                if let wait = self.turns.wait(at: Clocks.steady) { pause = min(pause, max(wait, Micros.millisecond)) }
                return self.after(pause) { self.claim() }
            }
            self.leaveClosed(all, owner)
        }
    }

    /// Returns claimed batches of a gate that was paused since the claim.
    private func leaveClosed(_ claimed: [ClaimedBatch], _ owner: Int32) {
        let closed = claimed.filter { orders.current.gates.isClosed($0.gate) }
        guard !closed.isEmpty else { return prepare(claimed, owner) }
        release(closed, of: owner) {
            self.left.removeAll(where: closed.contains)
            self.prepare(claimed.filter { !closed.contains($0) }, owner)
        }
    }

    private func prepare(_ claimed: [ClaimedBatch], _ owner: Int32) {
        let events = Set(claimed.flatMap { batch in batch.eventID.map { [$0] } ?? batch.eventIDs })
        run(claiming) { rows in
            (rows.fetch(events: events), claimed.map { rows.fetch($0.deviceIDs) })
        } answered: { fetched in
            guard let (events, devices) = fetched else { return self.claim() }
            self.draft(zip(claimed, devices).map { ($0, $1) }[...], owner, events, []) { self.passOn($0) }
        }
    }

    private func passOn(_ drafts: [BatchPreparer.Prepared]) {
        for prepared in drafts {
            left.removeAll { $0.id == prepared.batch.claimed.id }
            if prepared.batch.isAtMostOnce && !prepared.batch.deliveries.isEmpty {
                held.append(.init(prepared: prepared, roster: .empty))
            } else {
                hand(prepared)
            }
        }
        refund(drafts) { self.passOnHeld { self.after(2 * Micros.millisecond) { self.claim() } } }
    }

    private func passOnHeld(then next: @escaping () -> Void) {
        guard let (waiting, window) = held.next(in: limits.windows) else { return next() }
        let batch = waiting.prepared.batch
        let record = OpenBatch(batch, decided: waiting.prepared.decided).record
        // `FlushCommit`: only this transaction waits for the disk.
        run(claiming, flushed: true) { rows in
            rows.mark(Checkpoint(owner: batch.owner, batches: [record])).batches
        } answered: { mine in
            guard let mine else {
                self.limits.windows.release([batch.share: window])
                return self.claim()
            }
            self.held.remove(waiting)
            if mine.contains(batch.claimed.id) {
                self.hand(waiting.prepared, window: window)
            } else {
                self.limits.windows.release([batch.share: window])
            }
            self.passOnHeld(then: next)
        }
    }

    private func hand(_ prepared: BatchPreparer.Prepared, window: Int = 0) {
        mailbox.put(.opened(prepared.batch, decided: prepared.decided, window: window))
        if !prepared.batch.deliveries.isEmpty { send(prepared.batch) }
        after(0) { self.record() }
    }
}
