internal import FanfareLogging
package import Logging
package import PostgresClient
internal import Threading

/// How each stage opens its database session, and the sessions that are open.
///
/// A peer can be dead without TCP noticing, because a proxy in between still acknowledges packets. A session alone
/// notices only when a statement has used up its whole timeout. Statements are therefore grouped into sessions by how
/// long they may take. The control session's statements are trivial and frequent: when one of them times out, all other
/// sessions are abandoned too. While the server answers them, the control session asks the server whether it is working
/// for the sessions that have waited long (``LinkWatch``).
package struct DatabaseSessions: Sendable {
    /// Connection options without session settings; the password file, if any, is read on every connect.
    package let base: PostgresOptions
    /// The database that stages may work on.
    package var place = InstallationCheck.anywhere
    /// The sessions that are open now.
    package let open = OpenSessions()
    /// The response timeout of trivial statements: lease, cancellations, foreign channels.
    package var trivialPatience = Duration.seconds(10)
    /// How long a session waits before the control session asks whether the server works for it.
    package var linkPatience = LinkWatch.patience

    private static let namePrefix = "fanfare "

    /// Creates the connection settings.
    package init(base: PostgresOptions, place: InstallationCheck = .anywhere) {
        (self.base, self.place) = (base, place)
    }

    /// Returns the name of the stage that the options belong to.
    package static func stage(of options: PostgresOptions) -> String {
        String(options.applicationName.dropFirst(namePrefix.count))
    }

    /// Verifies that a session leads to the database that this daemon may work on.
    ///
    /// - Parameters:
    ///   - connection: the session.
    ///   - logger: receives a line if ids skip ahead, or if an old primary also accepts writes.
    /// - Throws: ``PostgresError`` with the code `wrongDatabase` and a hint; errors of the server.
    package func verify(_ connection: PostgresConnection, logger: Logger) throws(PostgresError) {
        if let split = base.timelines?.news() {
            logger.error(
                "an old primary takes writes beside the new one, which is used",
                metadata: .init([.detail: "\(split)", .hint: "\(split.advice)"])
            )
        }
        guard try place.verify(connection) else { return }
        logger.warning(
            "the server is on a new timeline, as after a failover; what it lacks of the old one is lost, and ids skip ahead"
        )
    }

    /// Options for statements on the queues: prepared statements, generic plans, index nested loops.
    package func queue(_ stage: String) -> PostgresOptions { options(stage, .queue, Self.patience) }

    /// Like ``queue(_:)``, for short statements: they use keys and touch a bounded number of batches.
    package func promptQueue(_ stage: String) -> PostgresOptions {
        options(stage, Self.prompt(.queue), Self.promptPatience)
    }

    /// Like ``queue(_:)``, for the planner: a commit does not wait for the WAL flush, a delay twice for each push.
    ///
    /// This is safe because WAL is written in order: if an outcome is on disk, so are the plan and the claim before it.
    /// A server crash loses at most plans and claims of deliveries without a recorded outcome, which the in-flight
    /// budget bounds. They are repeated with the same ids at the provider. A transaction that needs more uses
    /// ``FlushCommit``.
    package func planning(_ stage: String) -> PostgresOptions {
        options(stage, Self.probed(Self.unflushed(.queue)), Self.patience)
    }

    /// Like ``queue(_:)``, for a transaction that stays open while another session runs an author's query.
    package func asking(_ stage: String) -> PostgresOptions {
        let settings = SessionSettings.queue
            .setting("statement_timeout", to: "10s")
            .setting("idle_in_transaction_session_timeout", to: "30s")
        return options(stage, settings, Self.promptPatience)
    }

    /// Like ``promptQueue(_:)``, for claims: as with ``planning(_:)``, commits do not wait for the WAL flush.
    package func unflushedPromptQueue(_ stage: String) -> PostgresOptions {
        options(stage, Self.unflushed(Self.prompt(.queue)), Self.promptPatience)
    }

    /// Options for slices of large audiences: PostgreSQL's default planner settings.
    package func slices(_ stage: String) -> PostgresOptions { options(stage, .slices, Self.patience) }

    /// Options for `badge_sql`, which has its own timeout (``BadgeReader/patience``) and must not delay pushes.
    package func badges() -> PostgresOptions { queries("badges") }

    /// Options for queries in rules; each query has its own timeout.
    package func queries(_ name: String) -> PostgresOptions { options(name, .slices, trivialPatience) }

    /// Options for campaigns' queries: settings of the database and its roles apply, except for timeouts.
    ///
    /// - Parameter patience: the query's timeout, in microseconds.
    /// - Returns: the options.
    package func campaignQueries(within patience: Int64) -> PostgresOptions {
        let settings = SessionSettings.plain
            .setting("lock_timeout", to: "5s")
            .setting("idle_in_transaction_session_timeout", to: "1min")
        return options("campaign-query", settings, .microseconds(patience) + trivialPatience)
    }

    /// Options for storing the rows of a campaign's query: the transaction idles while the query runs.
    package func storing(_ stage: String) -> PostgresOptions {
        options(stage, SessionSettings.slices.setting("idle_in_transaction_session_timeout", to: "1min"), Self.patience)
    }

    /// Options for foreign channels and the lease: trivial statements on sessions that hold locks.
    package func control(_ stage: String) -> PostgresOptions {
        options(stage, Self.probed(.queue).setting("statement_timeout", to: "9s"), trivialPatience)
    }

    /// Longer than the settings' `statement_timeout` of 30 s.
    private static let patience = Duration.seconds(35)
    private static let promptPatience = Duration.seconds(13)

    private static func prompt(_ settings: SessionSettings) -> SessionSettings {
        settings.setting("statement_timeout", to: "12s")
    }

    /// Adds keepalives for sessions that hold locks: the server probes a silent peer after 10 s instead of hours, so
    /// that a host that lost power does not keep its locks.
    private static func probed(_ settings: SessionSettings) -> SessionSettings {
        settings
            .setting("tcp_keepalives_idle", to: "10")
            .setting("tcp_keepalives_interval", to: "3")
            .setting("tcp_keepalives_count", to: "3")
    }

    private static func unflushed(_ settings: SessionSettings) -> SessionSettings {
        settings.setting("synchronous_commit", to: "off")
    }

    private func options(_ stage: String, _ session: SessionSettings, _ patience: Duration) -> PostgresOptions {
        var options = base
        options.applicationName = Self.namePrefix + stage
        options.session = session
        options.responseTimeout = patience
        return options
    }
}
