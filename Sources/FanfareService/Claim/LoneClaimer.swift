internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Claims a lone event's batches in the transaction that plans it, and renders them once that is committed.
///
/// What a push of an idle daemon waits for is mostly threads and sessions that wake up: so it goes through one of each on its
/// way to the sender, and not through the claimer's too. Whatever is not that simple is left to the ``Claimer``.
///
/// For the planner's thread: a round after the other, each from ``begin()`` to ``end(_:handing:)``.
final class LoneClaimer {
    private let context: StageContext
    private let pools: SenderPools
    private let handover: Handover
    private let patience: Int64
    private var leaseToken = Int64.random(in: 1..<Int64.max / 2)
    private var doubts = DoubtfulClaims()
    /// The round's, from claim to sender.
    private var roster = SenderRoster.empty

    /// Makes one for a planner.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - pools: the senders.
    ///   - recorder: who is told of what is handed over.
    ///   - patience: how long what a round read of devices is good for, in microseconds; after that it may have waited for
    ///     a lock.
    init(
        context: StageContext,
        pools: SenderPools,
        recorder: Mailbox<RecorderMessage>,
        patience: Int64 = 100 * Micros.millisecond
    ) {
        self.context = context
        self.pools = pools
        self.patience = patience
        handover = Handover(context: context, recorder: recorder)
    }

    /// Gives back what may have been claimed over a connection that was lost.
    func settle(on connection: PostgresConnection) throws(PostgresError) {
        let count = try doubts.settle(on: connection, logger: context.logger)
        if count > 0 { context.bells.claim.ring() }
    }

    /// The claim that the next round is to make; nil while nothing may be claimed.
    func begin() -> LoneClaim? {
        guard let owner = context.lease.owner else { return nil }
        roster = pools.roster
        let (rates, quiet) = (context.rates.current, context.quiet.current)
        let places = context.directory.all.values.filter { $0.nativeKey == nil }.flatMap { target in
            // Bulk is in no hurry, and its room is the claimer's to fill, as is what goes at a rate or not at night.
            [Lane.transactional, .normal]
                .filter {
                    roster.room(target, SendQueue(lane: $0, isRetry: false)) > 0 && rates.of(target, in: $0).isEmpty
                        && ($0 == .transactional || !quiet.contains(target.app))
                }
                .map { LoneClaim.Place(target: target.id, lane: $0) }
        }
        guard !places.isEmpty else { return nil }
        leaseToken += 1
        let claim = LoneClaim(owner: owner, leaseToken: leaseToken, places: places, beganAt: Clocks.steady)
        doubts.began(claim.claim, at: Clocks.steady)
        return claim
    }

    /// Chooses what a round claimed and is to be sent from here.
    ///
    /// - Parameters:
    ///   - round: what it did.
    ///   - claim: what it was to claim.
    ///   - connection: in the round's transaction.
    /// - Returns: all batches of the round, or none. If one of them is not simple, all are released and the claimer takes them.
    /// - Throws: what the database says.
    func keep(
        _ round: PlanRoundSummary,
        _ claim: LoneClaim,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [LoneBatch] {
        guard !round.lone.isEmpty else { return [] }
        let known = round.lone.compactMap(\.self)
        // What is deferred may wait for others' locks, after the devices were read.
        let isFresh = round.deferred.isEmpty && Clocks.steady - claim.beganAt < patience
        if isFresh, known.count == round.lone.count, try areSimple(known, on: connection) { return known }
        _ = try connection.runReturningCount(ReleaseClaims(claims: [claim.claim]))
        return []
    }

    /// The round is committed: renders what it claimed, and hands it to the senders.
    ///
    /// What cannot be prepared is given back; until then the claim is in doubt.
    ///
    /// - Parameters:
    ///   - claim: what it was to claim.
    ///   - batches: what ``keep(_:_:on:)`` chose.
    ///   - connection: outside a transaction: however long a message takes to render, no lock and no snapshot is held for it.
    /// - Throws: what the database says.
    func end(
        _ claim: LoneClaim,
        sending batches: [LoneBatch],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        if !batches.isEmpty {
            context.lease.claimed(batches.map(\.claimed), asked: claim.beganAt)
            let preparer = BatchPreparer(context: context, targets: context.directory.all, apps: roster.identities)
            let prepared = try preparer.prepare(
                batches.map(\.claimed),
                of: Dictionary(batches.map { ($0.event.id, $0.event) }) { first, _ in first },
                to: batches.flatMap(\.devices),
                owner: claim.owner,
                on: connection
            )
            guard prepared.count == batches.count else {
                _ = try connection.runReturningCount(ReleaseClaims(claims: [claim.claim]))
                doubts.answered(claim.claim)
                return context.bells.claim.ring()
            }
            for one in prepared { handover.hand(one, to: roster) }
        }
        doubts.answered(claim.claim)
    }

    /// The round failed.
    func end(_ claim: LoneClaim, with error: PostgresError) {
        if error.sqlState != nil && !error.isConnectionLost {
            doubts.answered(claim.claim)
        } else {
            // A COMMIT may have been under way. From now on: the round may have taken long.
            doubts.began(claim.claim, at: Clocks.steady)
        }
    }

    /// Whether nothing has to be marked before the first request, and nobody else be asked.
    private func areSimple(_ batches: [LoneBatch], on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let rules = try context.rules.load(Set(batches.map(\.claimed.ruleVersion)), from: connection)
        return batches.allSatisfy { batch in
            guard let rule = rules[batch.claimed.ruleVersion] else { return false }
            let definition = rule.compiled.definition
            return definition.delivery != .atMostOnce && definition.badgeSQL == nil && !rule.compiled.needsVariables
                && !definition.suppressions.asks(in: batch.claimed.queue.lane, isAppQuiet: false)
                && definition.suppressions.caps.isEmpty
        }
    }
}
