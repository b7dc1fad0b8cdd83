package import FanfareCore
internal import FanfareLogging
package import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Reads the queries of campaigns that were fired, one after the other, and emits their events when all of it is stored.
///
/// The rows come over a session for users' queries and go out over one of its own, in one transaction, which begins when the
/// first rows are there. Both are open only while something is read.
package final class QueryReader: Stage {
    package let name = "campaign-queries"
    /// What a query may take until its first rows come, when it has run.
    package static let patience = 5 * Micros.minute
    /// How long after a failure that may not last the next try comes.
    private static let pause = 30 * Micros.second
    /// How long it sleeps unless somebody rings.
    private static let sleep = Duration.seconds(30)

    private let context: StageContext
    private let running: RunningQuery
    private let patience: Microseconds
    private let stopping = StopSignal()

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - running: where it says what it reads.
    ///   - patience: what a query may take, in microseconds.
    package init(context: StageContext, running: RunningQuery, patience: Microseconds = QueryReader.patience) {
        (self.context, self.running, self.patience) = (context, running, patience)
    }

    package func stop() {
        stopping.stop()
        running.giveUp()
        context.bells.read.ring()
    }

    package func run() {
        let store = Session(context.database.storing(name), of: context, stop: stopping)
        while !stopping.isStopped {
            context.pulses.beat(name)
            guard context.bells.read.wait(timeout: Self.sleep), !stopping.isStopped else { continue }
            // A query may take longer than a loop that hangs.
            context.pulses.rest(name)
            while !stopping.isStopped, readNext(into: store) {}
            store.close()
        }
    }

    /// Reads the query of the run that has waited longest.
    ///
    /// - Parameter store: where its rows go.
    /// - Returns: whether there was one.
    private func readNext(into store: Session) -> Bool {
        guard let owner = context.lease.owner,
            let taken = store.attempt({ connection throws(PostgresError) in
                try connection.run(TakeQueryRun(owner: owner)).first
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

    /// Reads and stores all of it.
    ///
    /// - Returns: how many rows there were.
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

    /// Notes why it was not read, and says so.
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
        let fail = FailQueryRun(
            run: queryRun.id,
            owner: owner,
            detail: isStopping ? "the daemon that read its query was stopped" : problem.detail,
            retryMicroseconds: pause
        )
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
