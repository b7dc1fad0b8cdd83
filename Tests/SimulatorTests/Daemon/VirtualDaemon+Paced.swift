import FanfareCore
import PostgresClient
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The simulation of `Claimer` for deliveries at a rate.
extension VirtualDaemon {
    func claimPaced(_ owner: Int32, then next: @escaping ([ClaimedBatch]) -> Void) {
        guard orders.current.arePaced else { return next([]) }
        let paces = batchRequests.paces
        let unknown = Set(turns.toAsk(of: paces.values, at: Clocks.steady))
        let check = { self.check(self.turns.due(at: Clocks.steady)[...], owner, [], then: next) }
        guard !unknown.isEmpty else { return check() }
        let places = paces.filter { unknown.contains($0.value) }.map(\.key)
        run(claiming) { rows in
            rows.apply(NextPaced(places: places))
        } answered: { found in
            guard let found else { return self.claim() }
            var waits: [Pace: Microseconds] = [:]
            for row in found {
                guard let pace = paces[row.place] else { continue }
                waits[pace] = min(waits[pace] ?? row.wait, row.wait)
            }
            self.turns.asked(waits, at: Clocks.steady)
            check()
        }
    }

    private func check(
        _ rest: ArraySlice<Pace>,
        _ owner: Int32,
        _ taken: [ClaimedBatch],
        then next: @escaping ([ClaimedBatch]) -> Void
    ) {
        guard let pace = rest.first else { return next(taken) }
        let now = context.lease.databaseNow
        let requests = batchRequests.requests(
            [pace.lane],
            at: pace,
            beside: left,
            sparing: held,
            above: floors,
            now: now
        )
        guard !requests.isEmpty else {
            turns.hadNoRoom(pace, at: Clocks.steady)
            return check(rest.dropFirst(), owner, taken, then: next)
        }
        let claim = begin(owner)
        let statement = ClaimPaced(
            gate: pace.gate,
            rates: pace.rates,
            requests: requests,
            owner: owner,
            leaseToken: claim.leaseToken
        )
        run(claiming) { [weak suppressions] rows in
            let answer = rows.apply(statement)
            if answer.contains(where: { $0.batch != nil }) { suppressions?.notePaced(claim.leaseToken) }
            return answer
        } answered: { rows in
            guard let rows else { return self.claim() }
            let claimed = rows.compactMap(\.batch)
            self.end(claim, claimed)
            self.turns.looked(pace, gave: !claimed.isEmpty, wait: rows.first?.wait, at: Clocks.steady)
            self.check(rest.dropFirst(), owner, taken + claimed, then: next)
        }
    }

    /// Refunds the rate for deliveries that need no request.
    func refund(_ prepared: [BatchPreparer.Prepared], then next: @escaping () -> Void) {
        let paced = Set(orders.current.gates.open.filter(\.isPaced).map(\.id))
        var counts: [Pace: Int] = [:]
        for batch in prepared.map(\.batch) where paced.contains(batch.claimed.gate) {
            let count = batch.claimed.deviceIDs.count - batch.deliveries.count
            let pace = Pace(gate: batch.claimed.gate, lane: batch.claimed.queue.lane, rates: [])
            if count > 0 { counts[pace, default: 0] += count }
        }
        refund(counts.sorted { $0.key < $1.key }[...], then: next)
    }

    private func refund(_ rest: ArraySlice<(key: Pace, value: Int)>, then next: @escaping () -> Void) {
        guard let (pace, count) = rest.first else { return next() }
        run(claiming) { rows in
            rows.apply(RefundRate(gate: pace.gate, deliveries: count))
        } answered: { (done: Void?) in
            guard done != nil else { return self.claim() }
            self.turns.refunded(pace, at: Clocks.steady)
            self.refund(rest.dropFirst(), then: next)
        }
    }
}
