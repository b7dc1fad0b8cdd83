internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import Logging
package import PostgresClient
internal import Threading

/// Logs database outages for all stages: the start, reminders while it lasts, and the end.
///
/// Each stage retries on its own, which amounts to several attempts a second. One line per attempt would flood the log,
/// and no stage alone can tell that the outage is over.
package final class DatabaseOutage: Sendable {
    /// The minimum time between two lines about the same kind of trouble.
    package static let silence = 30 * Micros.second

    private enum Trouble {
        /// No session can be opened.
        case unreachable
        /// A session opened, but the server accepts no writes.
        case readOnly
        /// A session opened, but this daemon must not send from the database.
        case refused
    }

    private struct State {
        /// When the first stage failed.
        var since: Microseconds = 0
        /// The stages that failed and have not succeeded since; empty if there is no outage.
        var failing: Set<String> = []
        /// When each kind of trouble was last logged in this outage.
        var toldAt: [Trouble: Microseconds] = [:]
    }

    /// The content of a log line about an outage.
    private struct News {
        let isFirst: Bool
        let lasted: Microseconds
        let stages: String
    }

    private let state = Locked(State())
    private let logger: Logger
    private let now: @Sendable () -> Microseconds

    /// Creates an instance without an outage.
    ///
    /// - Parameters:
    ///   - logger: receives the lines about outages.
    ///   - now: a steady clock.
    package init(logger: Logger, now: @escaping @Sendable () -> Microseconds = { Clocks.steady }) {
        self.logger = logger
        self.now = now
    }

    /// Records that a stage lost its session or could not open one, and logs it if a line is due.
    ///
    /// - Parameters:
    ///   - stage: the stage's name.
    ///   - error: the cause, an error with ``PostgresError/isOutage``.
    ///   - wait: the time until the stage's next attempt, in microseconds.
    package func failed(_ stage: String, with error: PostgresError, retryIn wait: Microseconds) {
        let now = now()
        let trouble: Trouble =
            error.isReadOnly ? .readOnly : error.code == .wrongDatabase ? .refused : .unreachable
        let news = state.withLock { state -> News? in
            if state.failing.isEmpty { state = State(since: now) }
            state.failing.insert(stage)
            let told = state.toldAt[trouble]
            if let told, now - told < Self.silence { return nil }
            state.toldAt[trouble] = now
            let stages = state.failing.sorted().joined(separator: ", ")
            return News(isFirst: told == nil, lasted: now - state.since, stages: stages)
        }
        guard let news else { return }
        var metadata = Logger.Metadata([
            .stage: "\(news.stages)", .error: "\(error)", .retryMilliseconds: "\(wait / Micros.millisecond)",
        ])
        if let sqlState = error.sqlState { metadata[.sqlState] = "\(sqlState)" }
        if news.lasted > 0 { metadata[.durationMilliseconds] = "\(news.lasted / Micros.millisecond)" }
        switch trouble {
        case .refused:
            logger.error("nothing is sent from this database until this is fixed", metadata: metadata)
        case .readOnly:
            logger.warning(
                "the database is read-only, as a standby is; database.url must lead to the primary",
                metadata: metadata
            )
        case .unreachable where news.isFirst: logger.warning("the database is not reachable", metadata: metadata)
        case .unreachable: logger.warning("the database is still not reachable", metadata: metadata)
        }
    }

    /// Records that a stage's session works, and logs the end of the outage if it was the last one failing.
    ///
    /// The outage ends only when every stage that failed has succeeded, because the server may admit one session and
    /// reject others.
    package func works(_ stage: String) {
        let lasted = state.withLock { state -> Microseconds? in
            guard !state.failing.isEmpty, state.failing.remove(stage) != nil, state.failing.isEmpty else { return nil }
            return now() - state.since
        }
        guard let lasted else { return }
        logger.notice(
            "the database is reachable again",
            metadata: .init([.durationMilliseconds: "\(lasted / Micros.millisecond)"])
        )
    }

    /// Removes a stage that has ended and will not report again.
    package func left(_ stage: String) {
        state.withLock { state in
            _ = state.failing.remove(stage)
        }
    }
}

extension PostgresError {
    /// Whether the error means that a session is lost or cannot be opened, rather than that a statement failed.
    ///
    /// This includes a rejected connection for any reason (starting up, 57P03; too many connections, 53300; the
    /// password); a connection that was lost, terminated by the server (57P01) or abandoned after a timeout; a server
    /// that accepts no writes, because the next attempt may reach the primary; and a database that this daemon must not
    /// work on.
    package var isOutage: Bool {
        if isConnectionLost || isReadOnly || code == .wrongDatabase { return true }
        guard let sqlState else { return code == .cancelled || code == .invalidOptions }
        return sqlState == "53300" || sqlState.hasPrefix("57P")
    }
}
