internal import FanfareLogging
package import Logging
package import PostgresClient
internal import Threading

/// How each stage's session is opened, and which are open.
///
/// A peer may be silent while TCP notices nothing, since a proxy in between still acknowledges. A session finds that out by
/// itself only after a statement has had all its time. So statements are parted by the time they may take: the control
/// session's are trivial and frequent, and when one of them gets no answer, no other session waits any longer. While it has
/// answers it asks whether the server is at work for whoever waits long (``LinkWatch``).
package struct DatabaseSessions: Sendable {
    /// Options without session settings; the password file, if any, is read on every connect.
    package let base: PostgresOptions
    /// Which database stages may work on.
    package var place = InstallationCheck.anywhere
    /// The sessions that are open now.
    package let open = OpenSessions()
    /// How long a trivial statement's answer may take: the lease, cancellations, foreign channels.
    package var trivialPatience = Duration.seconds(10)
    /// After how long the control session asks whether the server is at work for a session that waits.
    package var linkPatience = LinkWatch.patience

    private static let namePrefix = "fanfare "

    /// Says how to connect.
    package init(base: PostgresOptions, place: InstallationCheck = .anywhere) {
        (self.base, self.place) = (base, place)
    }

    /// Whose session some of these options are for.
    package static func stage(of options: PostgresOptions) -> String {
        String(options.applicationName.dropFirst(namePrefix.count))
    }

    /// Makes sure that a session leads where we may work.
    ///
    /// - Parameters:
    ///   - connection: the session.
    ///   - logger: told where ids skip ahead, and where an old primary takes writes too.
    /// - Throws: ``PostgresError`` with the code `wrongDatabase`, saying what to mend; what the server says.
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

    /// For the statements of the queues: prepared, generic plans, index nested loops.
    package func queue(_ stage: String) -> PostgresOptions { options(stage, .queue, Self.patience) }

    /// Like ``queue(_:)``, for statements of which none takes long: they go by keys, and for a bounded number of batches.
    package func promptQueue(_ stage: String) -> PostgresOptions {
        options(stage, Self.prompt(.queue), Self.promptPatience)
    }

    /// Like ``queue(_:)``, for the planner: a commit does not wait for the disk, which a push would wait for twice.
    ///
    /// Safe, since the log is written in order: whatever outcome is on the disk, the plan and the claim before it are too.
    /// A server that crashes forgets at most plans and claims of deliveries that are not recorded, which W bounds; they are made
    /// again, with the same ids at the provider. Who needs more says so: ``FlushCommit``.
    package func planning(_ stage: String) -> PostgresOptions {
        options(stage, Self.probed(Self.unflushed(.queue)), Self.patience)
    }

    /// Like ``queue(_:)``, for who waits in a transaction for what another session is asked.
    package func asking(_ stage: String) -> PostgresOptions {
        let settings = SessionSettings.queue
            .setting("statement_timeout", to: "10s")
            .setting("idle_in_transaction_session_timeout", to: "30s")
        return options(stage, settings, Self.promptPatience)
    }

    /// Like ``promptQueue(_:)``, for claiming: commits wait for the disk as little as those of ``planning(_:)``.
    package func unflushedPromptQueue(_ stage: String) -> PostgresOptions {
        options(stage, Self.unflushed(Self.prompt(.queue)), Self.promptPatience)
    }

    /// For slices of large audiences: the normal planner.
    package func slices(_ stage: String) -> PostgresOptions { options(stage, .slices, Self.patience) }

    /// For `badge_sql`, which is timed apart (``BadgeReader/patience``) and must not hold up pushes.
    package func badges() -> PostgresOptions { queries("badges") }

    /// For queries that authors of rules wrote, each of which is timed.
    package func queries(_ name: String) -> PostgresOptions { options(name, .slices, trivialPatience) }

    /// For campaigns' queries, each of which is timed by its own: what a database sets for its users counts, but for time-outs.
    ///
    /// - Parameter patience: what a query may take, in microseconds.
    /// - Returns: the options.
    package func campaignQueries(within patience: Int64) -> PostgresOptions {
        let settings = SessionSettings.plain
            .setting("lock_timeout", to: "5s")
            .setting("idle_in_transaction_session_timeout", to: "1min")
        return options("campaign-query", settings, .microseconds(patience) + trivialPatience)
    }

    /// For what campaigns' queries give: a transaction that waits for them in between.
    package func storing(_ stage: String) -> PostgresOptions {
        options(stage, SessionSettings.slices.setting("idle_in_transaction_session_timeout", to: "1min"), Self.patience)
    }

    /// For foreign channels and the lease: statements that take no time, on sessions that hold locks.
    package func control(_ stage: String) -> PostgresOptions {
        options(stage, Self.probed(.slices).setting("statement_timeout", to: "9s"), trivialPatience)
    }

    /// Above the settings' `statement_timeout`, 30 s.
    private static let patience = Duration.seconds(35)
    private static let promptPatience = Duration.seconds(13)

    private static func prompt(_ settings: SessionSettings) -> SessionSettings {
        settings.setting("statement_timeout", to: "12s")
    }

    /// For sessions that hold locks: the server probes a silent peer after 10 s, not after hours, since a host without power
    /// must not keep its own.
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
