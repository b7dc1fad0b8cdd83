package import FanfareCore
internal import FanfareLogging
package import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Runs the queries of fired campaigns one after the other, and emits their events when all rows are stored.
///
/// The rows are read on a session for authors' queries and written on the stage's own session, in one transaction that
/// starts when the first rows have arrived. Both sessions are open only during a query run.
package final class QueryReader: Stage {
    package let name = "campaign-queries"
    /// The time limit of a query from its start until its first rows arrive.
    package static let patience = 5 * Micros.minute
    /// The delay before a retry after a transient failure.
    private static let pause = 30 * Micros.second
    /// The longest sleep without a ring of the bell.
    private static let sleep = Duration.seconds(30)

    private let context: StageContext
    private let bell: Bell
    private let running: RunningQuery
    private let patience: Microseconds
    private let stopping = StopSignal()

    /// Creates the stage.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - bell: rung when runs wait for their campaigns' queries.
    ///   - running: the record of the current query, through which the scheduler can stop it.
    ///   - patience: the time limit of a query, in microseconds.
    package init(
        context: StageContext,
        bell: Bell,
        running: RunningQuery,
        patience: Microseconds = QueryReader.patience
    ) {
        (self.context, self.bell, self.running, self.patience) = (context, bell, running, patience)
    }

    package func stop() {
        stopping.stop()
        running.giveUp()
        bell.ring()
    }

    package func run() {
        context.takeTurns(on: context.database.storing(name), until: stopping) { store in
            guard bell.wait(timeout: Self.sleep), !stopping.isStopped else { return }
            // A query may take longer than the limit after which a loop counts as hanging.
            context.pulses.rest(name)
            while !stopping.isStopped, readNext(into: store) {}
            store.close()
        }
    }

    /// Runs the query of the run that has waited longest.
    ///
    /// - Parameter store: the session that stores the rows.
    /// - Returns: whether there was one.
    private func readNext(into store: Session) -> Bool {
        guard let owner = context.lease.owner,
            let taken = store.attempt({ connection throws(PostgresError) in
                try connection.run(SQL.takeQueryRun(owner)).first
            }), let queryRun = taken
        else { return false }
        running.begin(queryRun.id)
        defer { running.end() }
        let begin = Clocks.steady
        do throws(QueryRunError) {
            let rows = try read(queryRun, owner: owner, into: store)
            var metadata = queryRun.metadata
            metadata[.count] = "\(rows)"
            metadata[.durationMilliseconds] = "\((Clocks.steady - begin) / Micros.millisecond)"
            context.logger.notice("campaign fired", metadata: metadata)
        } catch {
            settle(error, queryRun, owner: owner, in: store)
        }
        return true
    }

    /// Runs a query and stores all its rows.
    ///
    /// - Returns: the number of rows.
    private func read(_ queryRun: QueryRun, owner: Int32, into store: Session) throws(QueryRunError) -> Int64 {
        guard let query = queryRun.query else { throw .row(sqlState: "55000", "the campaign has no query any more") }
        let source: PostgresConnection
        var rows: QueryRows
        let first: [[String?]]
        do throws(PostgresError) {
            source = try .open(context.database.campaignQueries(within: patience))
            running.open(source.watch)
            try context.database.verify(source, logger: context.logger)
            source.endWithItsClient()
            rows = try QueryRows(
                of: query,
                for: queryRun.testUsers,
                eventID: queryRun.eventID,
                on: source,
                within: Int(patience / Micros.millisecond)
            )
            first = try rows.next()
        } catch {
            throw .query(error)
        }
        defer { source.close() }
        let transfer = QueryRunTransfer(queryRun: queryRun, query: query, owner: owner, rows: rows)
        var failure = QueryRunError.taken
        let stored = store.attempt { connection throws(PostgresError) -> Int64? in
            do throws(QueryRunError) {
                return try transfer.store(first, on: connection)
            } catch {
                failure = error
                if case .store(let error) = error { throw error }
                return nil
            }
        }
        guard let stored, let count = stored else { throw failure }
        return count
    }

    /// Stores and logs the reason of a failed query run.
    private func settle(_ problem: QueryRunError, _ queryRun: QueryRun, owner: Int32, in store: Session) {
        var metadata = queryRun.metadata
        problem.describe(in: &metadata)
        let isStopping = stopping.isStopped
        guard isStopping || !running.isGivenUp, !problem.isTaken else {
            context.logger.notice(
                "the query of a campaign was stopped: it was aborted, or another daemon reads it",
                metadata: metadata
            )
            return
        }
        let pause = isStopping ? 0 : problem.mayPass ? Self.pause : nil
        let detail = isStopping ? "the daemon that read its query was stopped" : problem.detail
        let fail = SQL.failQueryRun(queryRun.id, owner, detail, pause)
        let failed = store.attempt { connection throws(PostgresError) in try connection.run(fail).first }
        guard !isStopping else { return }
        if let failed, failed == false {
            metadata[.retryMilliseconds] = "\(Self.pause / Micros.millisecond)"
            context.logger.warning("the query of a campaign failed; retrying", metadata: metadata)
        } else {
            context.logger.error("campaign failed", metadata: metadata)
        }
    }
}

extension QueryRun {
    fileprivate var metadata: Logger.Metadata {
        var metadata = Logger.Metadata([.app: "\(app)", .campaignName: "\(campaign)"])
        if case .audience = query { metadata[.eventID] = "\(eventID)" }
        return metadata
    }
}
