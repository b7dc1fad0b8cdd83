internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import Logging
package import PostgresClient
internal import Threading

/// Says for all stages that the database is away: when that begins, now and then while it lasts, and when it is over.
///
/// Each stage tries again by itself, all of them together several times a second. A line for each try would bury the rest
/// of the log, and none would say that it is over.
package final class DatabaseOutage: Sendable {
    /// How long nothing more is said of trouble that was told of.
    package static let silence = 30 * Micros.second

    private enum Trouble {
        /// There is no session to be had.
        case unreachable
        /// There is one, with a server that takes no writes.
        case readOnly
        /// There is one, with a database that is not ours to send from.
        case refused
    }

    private struct State {
        /// When the first stage failed.
        var since: Microseconds = 0
        /// Who failed and has not worked since; empty while all is well.
        var failing: Set<String> = []
        /// When each trouble of this outage was last told of.
        var toldAt: [Trouble: Microseconds] = [:]
    }

    /// What is to be told of an outage that goes on.
    private struct News {
        let isFirst: Bool
        let lasted: Microseconds
        let stages: String
    }

    private let state = Locked(State())
    private let logger: Logger
    private let now: @Sendable () -> Microseconds

    /// Makes one that knows of no outage.
    ///
    /// - Parameters:
    ///   - logger: told of outages.
    ///   - now: a steady clock.
    package init(logger: Logger, now: @escaping @Sendable () -> Microseconds = { Clocks.steady }) {
        self.logger = logger
        self.now = now
    }

    /// A stage found its session lost, or got none.
    ///
    /// - Parameters:
    ///   - stage: which.
    ///   - error: why (``PostgresError/isOutage``).
    ///   - wait: until it tries again.
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

    /// A stage's session answers.
    ///
    /// The outage is over when all stages that failed say so: one session may be had while others are refused.
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

    /// A stage has ended, and will not say any more whether its session answers.
    package func left(_ stage: String) {
        state.withLock { state in
            _ = state.failing.remove(stage)
        }
    }
}

extension PostgresError {
    /// Whether it says that a session is lost or not to be had, rather than that something is wrong with a statement.
    ///
    /// So do a refused connection, whatever the reason (starting up, 57P03; no room, 53300; the password), one that was lost,
    /// ended by the server (57P01) or given up for its silence, one to a server that takes no writes, where another may
    /// lead to the primary, and one to a database that is not ours to work on.
    package var isOutage: Bool {
        if isConnectionLost || isReadOnly || code == .wrongDatabase { return true }
        guard let sqlState else { return code == .cancelled || code == .invalidOptions }
        return sqlState == "53300" || sqlState.hasPrefix("57P")
    }
}
