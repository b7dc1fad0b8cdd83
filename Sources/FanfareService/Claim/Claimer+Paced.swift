internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

extension Claimer {
    /// Claims what is due behind gates that have a rate and whose turn it is.
    func claimPaced(
        of roster: SenderRoster,
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [ClaimedBatch] {
        guard context.gates.arePaced else { return [] }
        let list = wishList(of: roster)
        let unknown = work.turns.toAsk(of: list.paced, at: Clocks.steady)
        if !unknown.isEmpty {
            let next = try connection.run(NextPaced(places: unknown.flatMap(list.places(behind:))))
            work.turns.asked(next, at: Clocks.steady)
        }
        var taken: [ClaimedBatch] = []
        for gate in work.turns.due(of: list.paced, at: Clocks.steady) {
            let wishes = list.wishes(
                Lane.allCases,
                behind: gate,
                beside: work.left,
                sparing: work.held,
                above: work.floors,
                now: context.lease.databaseNow
            )
            guard !wishes.isEmpty else {
                work.turns.hadNoRoom(gate.id, at: Clocks.steady)
                continue
            }
            let claim = work.begin(for: owner)
            let rows = try connection.run(
                ClaimPaced(gate: gate.id, wishes: wishes, owner: claim.owner, leaseToken: claim.leaseToken)
            )
            let claimed = rows.compactMap(\.batch)
            work.end(claim, claimed)
            work.turns.looked(gate.id, gave: !claimed.isEmpty, wait: rows.first?.wait, at: Clocks.steady)
            taken += claimed
        }
        return taken
    }

    /// Gives back what was charged for pairs that need no request: they are decided, or were sent before the batch was rescued.
    ///
    /// What is cancelled so ends at once, and not at the rate.
    func refund(
        _ prepared: [BatchPreparer.Prepared],
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard context.gates.arePaced else { return }
        for gate in context.gates.open where gate.isPaced {
            let batches = prepared.map(\.batch).filter { $0.claimed.gate == gate.id }
            let count = batches.reduce(0) { $0 + $1.claimed.deviceIDs.count - $1.pairs.count }
            guard count > 0 else { continue }
            _ = try connection.runReturningCount(RefundRate(gate: gate.id, pairs: count))
            work.turns.refunded(gate.id, at: Clocks.steady)
        }
    }
}
