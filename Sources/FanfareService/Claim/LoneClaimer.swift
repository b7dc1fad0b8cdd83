internal import FanfareCore
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Claims a lone event's batches in the transaction that plans it, and renders them after the commit.
///
/// The latency of a push in an idle daemon consists mostly of waking threads and sessions. A lone event therefore
/// passes through one thread and one session before the sender, instead of through the claimer's as well. Batches that
/// need more are left to the ``Claimer``.
///
/// An instance is used by the planner's thread, for one round at a time, each from ``begin()`` to
/// ``end(_:sending:on:)``.
final class LoneClaimer {
    private let context: StageContext
    private let orders: Orders
    private let catalog: Catalog
    private let claimer: Bell
    private let pools: SenderPools
    private let handover: Handover
    private let patience: Int64
    private var leaseToken = Int64.random(in: 1..<Int64.max / 2)
    private var doubts = DoubtfulClaims()
    /// The pools of the current round, from claim to sender.
    private var roster = SenderRoster.empty

    /// Creates a claimer for a planner.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - orders: what stops pushes; batches under a rate or quiet hours are left to the claimer.
    ///   - catalog: the known rules and targets.
    ///   - claimer: rung for batches that are left to the claimer.
    ///   - pools: the senders.
    ///   - handover: hands the batches to the senders.
    ///   - patience: how long the device data read by a round is valid, in microseconds; a longer round may have waited
    ///     for a lock.
    init(
        context: StageContext,
        orders: Orders,
        catalog: Catalog,
        claimer: Bell,
        pools: SenderPools,
        handover: Handover,
        patience: Int64 = 100 * Micros.millisecond
    ) {
        (self.context, self.orders, self.catalog) = (context, orders, catalog)
        (self.claimer, self.pools, self.handover, self.patience) = (claimer, pools, handover, patience)
    }

    /// Gives back batches that may have been claimed over a lost connection.
    func settle(on connection: PostgresConnection) throws(PostgresError) {
        let count = try doubts.settle(on: connection, logger: context.logger)
        if count > 0 { claimer.ring() }
    }

    /// Returns the claim for the next round; nil if nothing may be claimed.
    func begin() -> LoneClaim? {
        guard let owner = context.lease.owner else { return nil }
        roster = pools.roster
        let orders = orders.current
        let places = catalog.targets.all.values.filter { $0.nativeKey == nil }.flatMap { target in
            // Bulk batches are not urgent, and their room is filled by the claimer. Batches under a rate or quiet hours
            // are the claimer's too.
            [Lane.transactional, .normal]
                .filter {
                    roster.room(target, SendQueue(lane: $0, isRetry: false)) > 0
                        && orders.rates.of(target, in: $0).isEmpty
                        && ($0 == .transactional || !orders.quiet.contains(target.app))
                }
                .map { LoneClaim.Place(target: target.id, lane: $0) }
        }
        guard !places.isEmpty else { return nil }
        leaseToken += 1
        let claim = LoneClaim(owner: owner, leaseToken: leaseToken, places: places, beganAt: Clocks.steady)
        doubts.began(claim.claim, at: Clocks.steady)
        return claim
    }

    /// Selects the batches of a round that are sent from here.
    ///
    /// - Parameters:
    ///   - round: the result of the round.
    ///   - claim: the round's claim.
    ///   - connection: a connection in the round's transaction.
    /// - Returns: all batches of the round, or none. If one of them is not simple, all are released for the claimer.
    /// - Throws: errors of the server.
    func keep(
        _ round: PlanRoundSummary,
        _ claim: LoneClaim,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [LoneBatch] {
        guard !round.lone.isEmpty else { return [] }
        let known = round.lone.compactMap(\.self)
        // Planning deferred matches may wait for locks after the devices were read.
        let isFresh = round.deferred.isEmpty && Clocks.steady - claim.beganAt < patience
        if isFresh, known.count == round.lone.count, try areSimple(known, on: connection) { return known }
        _ = try connection.runReturningCount(ReleaseClaims(claims: [claim.claim]))
        return []
    }

    /// Renders the batches of a committed round and hands them to the senders.
    ///
    /// Batches that cannot be prepared are given back; until then the claim is in doubt.
    ///
    /// - Parameters:
    ///   - claim: the round's claim.
    ///   - batches: the batches that ``keep(_:_:on:)`` returned.
    ///   - connection: a connection outside a transaction, so that slow rendering holds no lock or snapshot.
    /// - Throws: errors of the server.
    func end(
        _ claim: LoneClaim,
        sending batches: [LoneBatch],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        if !batches.isEmpty {
            context.lease.claimed(batches.map(\.claimed), asked: claim.beganAt)
            let prepared = try BatchPreparer(
                context: context,
                orders: orders,
                catalog: catalog,
                apps: roster.identities
            ).prepare(
                batches.map(\.claimed),
                of: Dictionary(batches.map { ($0.event.id, $0.event) }) { first, _ in first },
                to: batches.flatMap(\.devices),
                owner: claim.owner,
                on: connection
            )
            guard prepared.count == batches.count else {
                _ = try connection.runReturningCount(ReleaseClaims(claims: [claim.claim]))
                doubts.answered(claim.claim)
                return claimer.ring()
            }
            for one in prepared { handover.hand(one, to: roster) }
        }
        doubts.answered(claim.claim)
    }

    /// Records that the round failed.
    func end(_ claim: LoneClaim, with error: PostgresError) {
        if error.sqlState != nil && !error.isConnectionLost {
            doubts.answered(claim.claim)
        } else {
            // A COMMIT may have been in progress. The doubt counts from now, because the round may have taken long.
            doubts.began(claim.claim, at: Clocks.steady)
        }
    }

    /// Returns whether no batch needs to be marked before its first request, and none needs a further query.
    private func areSimple(_ batches: [LoneBatch], on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let rules = try catalog.rules.load(Set(batches.map(\.claimed.ruleVersion)), from: connection)
        return batches.allSatisfy { batch in
            guard let rule = rules[batch.claimed.ruleVersion] else { return false }
            let definition = rule.compiled.definition
            return definition.delivery != .atMostOnce && definition.badgeSQL == nil && !rule.compiled.needsVariables
                && !definition.suppressions.asks(in: batch.claimed.queue.lane, isAppQuiet: false)
                && definition.suppressions.caps.isEmpty
        }
    }
}
