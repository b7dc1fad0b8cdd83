internal import FanfareCore
internal import Logging
internal import PostgresClient

/// Plans the events of the side queue one by one: an error is then the event's own, and ends it as refused.
struct SlowLane {
    /// What one event may take; a jsonpath can be a bomb.
    private static let timeout = "1s"
    /// How long one lock is waited for: well below ``timeout``, which would take the wait for the event's own fault.
    private static let lockTimeout = "200ms"
    /// For the transaction: the session may be one for other work.
    private static let settings =
        SessionSettings.nestedLoops
        .setting("statement_timeout", to: timeout)
        .setting("lock_timeout", to: lockTimeout)
        .forOneTransaction

    let context: StageContext

    /// Plans what waits.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - end: steady time after which no further event is begun.
    /// - Returns: whether nothing is left.
    /// - Throws: what the database says, other than of an event's own data; the event stays, and is tried again: 55P03 where
    ///   it waits for a lock, 42P01 while a table is missing.
    @discardableResult
    func plan(on connection: PostgresConnection, until end: Microseconds = .max) throws(PostgresError) -> Bool {
        while try planOne(on: connection) {
            guard Clocks.steady < end else { return false }
        }
        return true
    }

    /// - Returns: false if there is none.
    private func planOne(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard let event = try connection.run(NextSlowEvent()).first else { return false }
        do throws(PostgresError) {
            do throws(PostgresError) {
                try plan(event, on: connection)
            } catch {
                // A machine that stood still looks like a bomb: who takes too long is asked once more.
                guard error.isCancelled else { throw error }
                try plan(event, on: connection)
            }
        } catch {
            guard error.isDataError || error.isCancelled else { throw error }
            try refuse(event, because: error, on: connection)
        }
        return true
    }

    private func plan(_ event: SlowEvent, on connection: PostgresConnection) throws(PostgresError) {
        let (round, counts) = try connection.transaction { connection throws(PostgresError) in
            try connection.execute(Self.settings)
            let statement = PlanSlowEvent(event: event, batchSize: context.settings.batchSize)
            let round = PlanRoundSummary(try connection.run(statement))
            return (round, try AudiencePlanner(context: context).plan(round.deferred, on: connection))
        }
        context.counters.planned(round)
        if round.batches + counts.batches > 0 { context.bells.claim.ring() }
        if counts.plans > 0 { context.bells.slice.ring() }
    }

    private func refuse(
        _ event: SlowEvent,
        because error: PostgresError,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let detail = "cannot be planned: SQLSTATE \(error.sqlState ?? "?"), \(error.message)"
        guard let id = try connection.run(RefuseSlowEvent(event: event, detail: detail)).first else { return }
        context.logger.error(
            "an event was refused: planning it failed",
            metadata: .init([.eventID: "\(id)", .error: "\(error)"])
        )
    }
}

extension SessionSettings {
    /// SQL that makes them hold until the transaction's end; for settings of our own, whose values need no quoting.
    var forOneTransaction: String {
        pairs.map { "SET LOCAL \($0.name) = '\($0.value)'" }.joined(separator: ";")
    }
}
