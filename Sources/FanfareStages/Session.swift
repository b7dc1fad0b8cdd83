internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import Logging
package import PostgresClient
internal import Threading

/// A stage's session with the database: opened when it is wanted, opened again after it was lost.
///
/// Used by one thread.
package final class Session {
    private let options: PostgresOptions
    private let stop: StopSignal
    private let logger: Logger
    private let database: DatabaseSessions
    private let outage: DatabaseOutage
    /// Whose it is.
    package let stage: String
    private var backoff = ReconnectBackoff()
    private var connection: PostgresConnection?
    /// Grows with every new connection: session locks and prepared statements go with the old one.
    package private(set) var generation = 0
    /// Whether the last attempt failed because the database did not answer in time.
    package private(set) var isUnanswered = false
    /// Whether the last attempt failed because this is no database for us to work on.
    package private(set) var isRefused = false
    /// Whether something was done over the open connection.
    private var hasWorked = false
    private let stopped = Bell()

    /// Makes a session that is not open yet.
    ///
    /// - Parameters:
    ///   - options: how it is opened.
    ///   - context: whose stage's it is.
    ///   - stop: ends its waits.
    package init(_ options: PostgresOptions, of context: StageContext, stop: StopSignal) {
        self.options = options
        self.stop = stop
        logger = context.logger
        database = context.database
        outage = context.outage
        stage = DatabaseSessions.stage(of: options)
        let stopped = stopped
        stop.whenStopped { stopped.ring() }
    }

    deinit {
        outage.left(stage)
    }

    /// Runs one piece of work; connects first where needed.
    ///
    /// - Parameters:
    ///   - opened: called on every new connection before the work.
    ///   - work: what to do. An error of it is logged, or told to all sessions' ``DatabaseOutage``, and returned as nil; a
    ///     connection that is lost, or that leads to a server that takes no writes, is opened anew next time.
    /// - Returns: what `work` returned, or nil after an error or when told to stop; the caller just tries again.
    package func attempt<Result>(
        opened: (PostgresConnection) throws(PostgresError) -> Void = { _ in },
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) -> Result? {
        let hadWorked = hasWorked
        do throws(PostgresError) {
            let connection = try connected(opened)
            let result = try work(connection)
            backoff.reset()
            isUnanswered = false
            isRefused = false
            hasWorked = true
            outage.works(stage)
            return result
        } catch {
            isUnanswered = error.isUnanswered
            isRefused = error.code == .wrongDatabase
            noteFailure(error, hadWorked: hadWorked)
            return nil
        }
    }

    /// Closes the connection, if it is open.
    package func close() {
        database.open.closed(self)
        connection?.close()
        connection = nil
        hasWorked = false
    }

    private func connected(
        _ opened: (PostgresConnection) throws(PostgresError) -> Void
    ) throws(PostgresError) -> PostgresConnection {
        if let connection, !connection.isClosed { return connection }
        let fresh = try PostgresConnection.open(options)
        database.open.opened(self, fresh)
        try database.verify(fresh, logger: logger)
        try opened(fresh)
        connection = fresh
        generation += 1
        return fresh
    }

    private func noteFailure(_ error: PostgresError, hadWorked: Bool) {
        // After a failover a standby answers like the primary that it was, and would for ever.
        if connection?.isClosed ?? true || error.isConnectionLost || error.isReadOnly || isRefused { close() }
        guard !stop.isStopped else { return }
        let wait = backoff.next(random: Clocks.unitRandom)
        if error.isOutage && !error.isReadOnly && !isRefused && hadWorked {
            // It may have been lost long ago, and the database be well since: the next connection will tell.
            logger.info("database session lost; reconnecting", metadata: metadata(error, retryIn: wait))
        } else if error.isOutage {
            outage.failed(stage, with: error, retryIn: wait)
            logger.debug("database statement failed", metadata: metadata(error, retryIn: wait))
        } else {
            // The database said it, so it is there.
            outage.works(stage)
            logger.warning("database statement failed", metadata: metadata(error, retryIn: wait))
        }
        stopped.wait(timeout: .microseconds(wait))
    }

    private func metadata(_ error: PostgresError, retryIn wait: Microseconds) -> Logger.Metadata {
        var metadata = Logger.Metadata([
            .stage: "\(stage)", .error: "\(error)", .retryMilliseconds: "\(wait / Micros.millisecond)",
        ])
        if let sqlState = error.sqlState { metadata[.sqlState] = "\(sqlState)" }
        return metadata
    }
}
