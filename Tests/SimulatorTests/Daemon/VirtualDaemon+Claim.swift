import FanfareCore
import PostgresClient
import Threading

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// What `Claimer` does.
extension VirtualDaemon {
    private static let sweepInterval = 5 * Micros.second
    private static let returnDelay = 5 * Micros.second
    private static let depth = 2

    func claim() {
        guard let owner = context.lease.owner else { return after(200 * Micros.millisecond) { self.claim() } }
        leaseToken += 1
        let token = leaseToken
        if claiming.id == nil { floors = ClaimFloors() }
        giveBack(owner) { self.settle { self.passOnHeld { self.claim(owner, token) } } }
    }

    private func giveBack(_ owner: Int32, then next: @escaping () -> Void) {
        guard !left.isEmpty else { return next() }
        let records = left.map { BatchRecord(id: $0.id, leaseToken: $0.leaseToken, outcomes: []) }
        let statement = ReleaseBatches(owner: owner, batches: records, delay: Self.returnDelay)
        run(claiming) { rows in
            rows.apply(statement)
        } answered: { count in
            guard count != nil else { return self.claim() }
            self.left = []
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

    private func claim(_ owner: Int32, _ token: Int64) {
        if floors.isSweepDue(at: Clocks.steady, every: Self.sweepInterval) { floors.sweep(at: Clocks.steady) }
        let now = context.lease.databaseNow
        let wishes = desks.keys.sorted().flatMap { target in
            SendQueue.allCases.compactMap { queue -> ClaimWish? in
                let room = Self.depth - (desks[target]?.waiting(queue) ?? 0)
                guard room > 0, !held.contains(target, queue) else { return nil }
                return ClaimWish(
                    target: target,
                    queue: queue,
                    count: Int32(room),
                    floor: floors.floor(target: target, queue, now: now)
                )
            }
        }
        let claim = DoubtfulClaim(owner: owner, leaseToken: token)
        doubts.began(claim, at: Clocks.steady)
        run(claiming) { rows in
            rows.apply(ClaimBatches(wishes: wishes, owner: owner, leaseToken: token))
        } answered: { claimed in
            guard let claimed else { return self.claim() }
            self.doubts.answered(claim)
            guard !claimed.isEmpty else {
                return self.after(self.world.chance.time(5 * Micros.millisecond...600 * Micros.millisecond)) {
                    self.claim()
                }
            }
            for batch in claimed { self.floors.saw(batch) }
            self.left = claimed
            self.prepare(claimed, owner)
        }
    }

    private func prepare(_ claimed: [ClaimedBatch], _ owner: Int32) {
        let events = Set(claimed.flatMap { batch in batch.eventID.map { [$0] } ?? batch.eventIDs })
        run(claiming) { rows in
            (rows.fetch(events: events), claimed.map { rows.fetch($0.deviceIDs) })
        } answered: { fetched in
            guard let (events, devices) = fetched else { return self.claim() }
            let drafts = zip(claimed, devices).compactMap { self.draft($0, owner, events, $1) }
            self.passOn(drafts)
        }
    }

    private func draft(
        _ batch: ClaimedBatch,
        _ owner: Int32,
        _ events: [Int64: EventRow],
        _ devices: [DeviceRow]
    ) -> BatchPreparer.Prepared? {
        guard let rule = SimulatedRule.all.first(where: { $0.id == batch.ruleVersion }),
            let target = context.directory.all[batch.target]
        else { return nil }
        var draft = BatchDraft(
            context: context,
            batch: batch,
            owner: owner,
            rule: rule.loaded,
            target: target,
            app: [.apns: ProviderIdentity(topic: "com.example.shop")],
            events: events,
            newest: [:],
            fields: [:],
            badges: [:],
            calm: .none
        )
        return draft.finish(devices[...])
    }

    private func passOn(_ drafts: [BatchPreparer.Prepared]) {
        for prepared in drafts {
            left.removeAll { $0.id == prepared.batch.claimed.id }
            if prepared.batch.isAtMostOnce && !prepared.batch.pairs.isEmpty {
                held.append(.init(prepared: prepared, roster: .empty))
            } else {
                hand(prepared)
            }
        }
        passOnHeld { self.after(2 * Micros.millisecond) { self.claim() } }
    }

    private func passOnHeld(then next: @escaping () -> Void) {
        guard let (waiting, window) = held.next(in: context.windows) else { return next() }
        let batch = waiting.prepared.batch
        let record = OpenBatch(batch, decided: waiting.prepared.decided).record
        // `FlushCommit`: this one transaction waits for the disk.
        run(claiming, flushed: true) { rows in
            rows.mark(Checkpoint(owner: batch.owner, batches: [record])).batches
        } answered: { mine in
            guard let mine else {
                self.context.windows.release([batch.share: window])
                return self.claim()
            }
            self.held.remove(waiting)
            if mine.contains(batch.claimed.id) {
                self.hand(waiting.prepared, window: window)
            } else {
                self.context.windows.release([batch.share: window])
            }
            self.passOnHeld(then: next)
        }
    }

    private func hand(_ prepared: BatchPreparer.Prepared, window: Int = 0) {
        mailbox.put(.opened(prepared.batch, decided: prepared.decided, window: window))
        if !prepared.batch.pairs.isEmpty { send(prepared.batch) }
        after(0) { self.record() }
    }
}
