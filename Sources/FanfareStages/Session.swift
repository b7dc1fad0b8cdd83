internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import Logging
package import PostgresClient
internal import Threading

/// A stage's database session, opened on first use and reopened after a loss.
///
/// An instance is used by one thread.
package final class Session {
    private let options: PostgresOptions
    private let stop: StopSignal
    private let logger: Logger
    private let database: DatabaseSessions
    private let outage: DatabaseOutage
    /// The name of the stage.
    package let stage: String
    private var backoff = ReconnectBackoff()
    private var connection: PostgresConnection?
    /// A number that grows with every new connection, because session locks and prepared statements end with the old one.
    package private(set) var generation = 0
    /// Whether the last attempt failed because the database did not respond in time.
    package private(set) var isUnanswered = false
    /// Whether the last attempt failed because the daemon must not work on the database.
    package private(set) var isRefused = false
    /// Whether work succeeded on the open connection.
    private var hasWorked = false
    private let stopped = Bell()

    /// Creates a session that is not open yet.
    ///
    /// - Parameters:
    ///   - options: the connection options.
    ///   - context: the stage's context.
    ///   - stop: the signal that ends the session's waits.
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

    /// Runs one piece of work, after connecting if necessary.
    ///
    /// - Parameters:
    ///   - opened: called with every new connection before the work.
    ///   - work: the work. Its errors are logged or reported to the shared ``DatabaseOutage``. A connection that is
    ///     lost or leads to a server that accepts no writes is closed, and the next attempt opens a new one.
    /// - Returns: the result of `work`; nil after an error or a stop. Callers simply try again.
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
        // A former primary that became a standby keeps answering on its connections.
        if connection?.isClosed ?? true || error.isConnectionLost || error.isReadOnly || isRefused { close() }
        guard !stop.isStopped else { return }
        let wait = backoff.next(random: Clocks.unitRandom)
        if error.isOutage && !error.isReadOnly && !isRefused && hadWorked {
            // The connection may have been lost long ago and the database be healthy: the next connect shows it.
            logger.info("database session lost; reconnecting", metadata: metadata(error, retryIn: wait))
        } else if error.isOutage {
            outage.failed(stage, with: error, retryIn: wait)
            logger.debug("database statement failed", metadata: metadata(error, retryIn: wait))
        } else {
            // The error came from the server, so the database is reachable.
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
