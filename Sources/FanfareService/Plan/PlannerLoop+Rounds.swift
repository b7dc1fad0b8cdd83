internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// The rounds of a planner, and the handling of sets that cannot be planned.
extension PlannerLoop {
    /// The lock timeout in milliseconds: well below the round's timeout, whose expiry would be blamed on the events,
    /// and above the time for which retention locks a day of the log.
    static let lockTimeout = 300
    /// The statement timeout of a round in milliseconds: many times its target duration, and no longer than other work
    /// can wait.
    private static let roundTimeout: Int64 = 500
    /// The number of additional rules of an event that extend the timeout by a millisecond.
    private static let rulesPerMillisecond: Int64 = 50

    /// Plans one round in one transaction.
    ///
    /// A set that fails is retried in smaller sets until the failing event is alone; that one goes to the quarantine.
    ///
    /// - Returns: the result of the round; empty if the set failed, in which case more is waiting.
    mutating func plan(
        _ way: OutboxTracks.Way,
        on connection: PostgresConnection
    ) throws(PostgresError) -> PlanRoundSummary {
        context.pulses.beat(Planner.name)
        let track = tracks[way]
        do throws(PostgresError) {
            try allow(track.rules, on: connection)
            let start = Clocks.steady
            let choice = try chosen(on: track, connection)
            let round =
                way == .suspects
                ? PlanRoundSummary(try connection.run(track.quarantined(choice)))
                : try planSet(track, choice, connection)
            if !round.quarantine.isEmpty { planning.bells.quarantine.ring() }
            // The session reports this only after the backlog of an outage is drained, which can take long.
            context.outage.works(Planner.name)
            if round.unjudged == unjudged {
                tracks[way].advance(after: round, end: choice?.end, cost: Clocks.steady - start)
            } else {
                unjudged = round.unjudged
                startOver()
            }
            return round
        } catch {
            guard error.isDataError || error.isCancelled else {
                if error.isIdleInTransaction { lostWith = lastTaken }
                // The transaction was rolled back, so the events it had taken are below the floor again.
                startOver()
                throw error
            }
            try recover(from: error, on: way, connection)
            return PlanRoundSummary([])
        }
    }

    private mutating func allow(_ rules: Int64, on connection: PostgresConnection) throws(PostgresError) {
        let milliseconds = Self.roundTimeout + rules / Self.rulesPerMillisecond
        guard milliseconds != timeout else { return }
        try connection.set(SessionSettings([("statement_timeout", String(milliseconds))]))
        timeout = milliseconds
    }

    /// Returns the filter of the next round on a track; nil if the track has no filter.
    private func chosen(on track: OutboxTrack, _ connection: PostgresConnection) throws(PostgresError) -> OutboxChoice?
    {
        guard var choice = track.choice else { return nil }
        choice.end = try connection.run(SQL.outboxAhead(track.floor, Int32(track.reach))).first
        return choice
    }

    private mutating func planSet(
        _ track: OutboxTrack,
        _ choice: OutboxChoice?,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> PlanRoundSummary {
        var statement = PlanRound(floor: track.floor, limit: track.limit.count, batchSize: context.settings.batchSize)
        try lone?.settle(on: connection)
        statement.claim = lone?.begin()
        let (claim, lone) = (statement.claim, lone)
        let planned: Planned
        do throws(PostgresError) {
            if let choice {
                planned = try commit(PlanChosen(round: statement, choice: choice), claim, connection)
            } else if !orders.current.rates.isEmpty {
                planned = try commit(PlanPacedRound(round: statement), claim, connection)
            } else {
                planned = try commit(statement, claim, connection)
            }
        } catch {
            if let lone, let claim { lone.end(claim, with: error) }
            throw error
        }
        if let lone, let claim { try send(planned.kept, of: claim, by: lone, connection) }
        planning.committed(planned.round, planned.counts, isLeftToClaim: planned.isLeftToClaim)
        return planned.round
    }

    /// Sends the batches that a committed round claimed; a server error is logged, and the claim is given back.
    private func send(
        _ batches: [LoneBatch],
        of claim: LoneClaim,
        by lone: LoneClaimer,
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        do throws(PostgresError) {
            try lone.end(claim, sending: batches, on: connection)
        } catch {
            guard error.code == .server || error.isCancelled, !error.isConnectionLost else { throw error }
            context.logger.warning(
                "a lone event's batches could not be prepared; they are claimed again",
                metadata: .init([.error: "\(error)"])
            )
        }
    }

    private mutating func commit<Statement: PostgresStatement>(
        _ statement: Statement,
        _ claim: LoneClaim?,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> Planned where Statement.Row == PlanRoundPart {
        let (planning, lone) = (planning, lone)
        var taken = 0
        defer { lastTaken = taken }
        return try connection.transaction(beginningWith: statement) { connection, parts throws(PostgresError) in
            let round = PlanRoundSummary(parts)
            taken = round.taken
            var planned = Planned(round: round, counts: try planning.audiences.plan(round.deferred, on: connection))
            if let lone, let claim { planned.kept = try lone.keep(round, claim, on: connection) }
            // The rest of a lone event should not wait until the claimer has woken up, which takes longer than the
            // commit.
            if round.taken == 1, planned.isLeftToClaim { planning.bells.claim.ring() }
            return planned
        }
    }

    /// Continues after a set failed because of its events.
    private mutating func recover(
        from error: PostgresError,
        on way: OutboxTracks.Way,
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        hasMore = true
        // In a thousand events that each have a thousand rules, no event stands out by its size.
        if error.isCancelled, try readRules(on: connection) { return }
        let track = tracks[way]
        let choice = try chosen(on: track, connection) ?? OutboxChoice()
        var taken = track.limit.count
        if error.isCancelled {
            let set = try connection.run(SQL.outboxSizes(track.floor, Int32(taken), choice))
            guard !set.isEmpty else { throw error }
            taken = set.count
            if suspects.learn(from: set, at: Clocks.steady) {
                context.logger.warning(
                    "planning a set of events took too long; those with large payloads are planned alone",
                    metadata: .init([.error: "\(error)", .count: "\(taken)"])
                )
                return startOver()
            }
        }
        if taken > 1 {
            context.logger.debug(
                "a set of events could not be planned; retrying smaller sets",
                metadata: .init([.error: "\(error)", .count: "\(taken)"])
            )
            tracks[way].limit.failed(taken, tookTooLong: error.isCancelled)
        } else {
            tracks[way].limit.recovered()
            try quarantined(by: track.quarantined(choice, limit: 1), error, connection)
        }
    }

    /// Continues after the session was lost while planning a set: tries smaller sets, or quarantines an event that was
    /// alone.
    mutating func avoid(setOf taken: Int, on connection: PostgresConnection) throws(PostgresError) {
        guard taken > 0 else { return }
        guard taken == 1 else { return tracks[.main].limit.failed(taken, tookTooLong: true) }
        let lost = PostgresError(.cancelled, message: "the session was lost while the event was planned")
        try quarantined(
            by: tracks[.main].quarantined(chosen(on: tracks[.main], connection), limit: 1),
            lost,
            connection
        )
    }

    private mutating func quarantined(
        by statement: StatementCall<PlanRoundPart>,
        _ error: PostgresError,
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        // If there is no event to blame, or another planner has taken it meanwhile, the error is thrown and this
        // planner starts over.
        guard let culprit = PlanRoundSummary(try connection.run(statement)).quarantine.first else { throw error }
        planning.bells.quarantine.ring()
        context.logger.warning(
            "an event could not be planned with others; it is planned alone",
            metadata: .about(
                culprit.eventID,
                ofTrace: culprit.traceID,
                [.eventType: "\(culprit.type)", .error: "\(error)"]
            )
        )
        if error.isCancelled, suspects.learn(fromLone: culprit, at: Clocks.steady) { startOver() }
    }
}

/// A round that is committed, or about to be.
private struct Planned {
    let round: PlanRoundSummary
    let counts: PlannedCounts
    /// The batches that this planner gives to the senders itself.
    var kept: [LoneBatch] = []

    /// Whether there are batches left for the claimer.
    var isLeftToClaim: Bool { round.batches + counts.batches > kept.count }
}

extension OutboxTrack {
    /// Returns the statement that moves the events of the next round to the quarantine.
    fileprivate func quarantined(_ choice: OutboxChoice?, limit: Int? = nil) -> StatementCall<PlanRoundPart> {
        SQL.quarantineEvents(floor, Int32(limit ?? self.limit.count), choice ?? OutboxChoice())
    }
}
