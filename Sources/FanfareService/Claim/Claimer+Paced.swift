internal import FanfareCore
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

extension Claimer {
    /// Claims due batches under a rate, pace by pace in turn.
    func claimPaced(
        of roster: SenderRoster,
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [ClaimedBatch] {
        guard orders.current.arePaced else { return [] }
        let list = batchRequests(of: roster)
        try ask(list.paces, &work.turns, on: connection)
        var taken: [ClaimedBatch] = []
        for pace in work.turns.due(at: Clocks.steady) {
            let requests = list.requests(
                [pace.lane],
                at: pace,
                beside: work.left,
                sparing: work.held,
                above: work.floors,
                now: context.lease.databaseNow
            )
            guard !requests.isEmpty else {
                work.turns.hadNoRoom(pace, at: Clocks.steady)
                continue
            }
            let claim = work.begin(for: owner)
            let asked = Clocks.steady
            let rows = try connection.run(
                ClaimPaced(
                    gate: pace.gate,
                    rates: pace.rates,
                    requests: requests,
                    owner: claim.owner,
                    leaseToken: claim.leaseToken
                )
            )
            let claimed = rows.compactMap(\.batch)
            context.lease.claimed(claimed, asked: asked)
            work.end(claim, claimed)
            work.turns.looked(pace, gave: !claimed.isEmpty, wait: rows.first?.wait, at: Clocks.steady)
            taken += claimed
        }
        return taken
    }

    /// Reads the next due time for the paces that have no known one.
    private func ask(
        _ paces: [BatchPlace: Pace],
        _ turns: inout PacedTurns,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let unknown = Set(turns.toAsk(of: paces.values, at: Clocks.steady))
        guard !unknown.isEmpty else { return }
        let places = paces.filter { unknown.contains($0.value) }.map(\.key)
        var waits: [Pace: Microseconds] = [:]
        for row in try connection.run(NextPaced(places: places)) {
            guard let pace = paces[row.place] else { continue }
            waits[pace] = min(waits[pace] ?? row.wait, row.wait)
        }
        turns.asked(waits, at: Clocks.steady)
    }

    /// Refunds what was charged to rates for deliveries that need no request: they are decided, or were sent before the
    /// batch was rescued.
    ///
    /// A cancelled broadcast therefore ends at once, not at its rate.
    func refund(
        _ prepared: [BatchPreparer.Prepared],
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let orders = orders.current
        guard orders.arePaced else { return }
        let targets = catalog.targets.all
        let paced = Set(orders.gates.open.filter(\.isPaced).map(\.id))
        var counts: [Pace: Int] = [:]
        for batch in prepared.map(\.batch) {
            let (claimed, count) = (batch.claimed, batch.claimed.deviceIDs.count - batch.deliveries.count)
            guard count > 0, let target = targets[claimed.target] else { continue }
            let own = orders.rates.of(target, in: claimed.queue.lane)
            guard paced.contains(claimed.gate) || !own.isEmpty else { continue }
            counts[Pace(gate: claimed.gate, lane: claimed.queue.lane, rates: own), default: 0] += count
        }
        for (pace, count) in counts.sorted(by: { $0.key < $1.key }) {
            _ = try connection.runReturningCount(RefundRate(gate: pace.gate, rates: pace.rates, deliveries: count))
            work.turns.refunded(pace, at: Clocks.steady)
        }
    }
}
