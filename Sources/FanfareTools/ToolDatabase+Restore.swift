public import FanfareCore
internal import FanfareService
internal import PostgresClient

/// Since when: a time, or so long ago by the database's clock.
public enum Since: Sendable, Equatable {
    /// So long ago.
    case ago(TimeSpan)
    /// A time as PostgreSQL reads it, such as `2026-11-21T13:00:00Z`; without a zone it is UTC.
    case time(String)

    /// Reads `2h`, or a time.
    ///
    /// - Parameter text: what somebody typed.
    public init(_ text: String) {
        self = TimeSpan(text).map(Since.ago) ?? .time(text)
    }

    var seconds: Int64? {
        if case .ago(let span) = self { span.seconds } else { nil }
    }

    var text: String? {
        if case .time(let text) = self { text } else { nil }
    }

    /// The mistake of who typed what PostgreSQL takes for no time; nil for any other error.
    func mistake(in error: PostgresError) -> ToolError? {
        // No time, out of range, and two ways to name no time zone.
        guard let text, let state = error.sqlState, ["22007", "22008", "22009", "22023"].contains(state) else {
            return nil
        }
        return ToolError(
            .usage,
            "--since: “\(TextTable.printable(text))” is neither a span of time nor a time",
            hint: "Write how long ago, as 90s, 15m, 2h or 7d, or a time such as 2026-11-21T13:00:00Z."
        )
    }
}

/// Which pruned devices to enable again.
public struct RestoreRequest: Sendable {
    /// Of this app only.
    public let app: String
    /// Pruned since then.
    public let since: Since
    /// Pruned for this reason only, such as `BadDeviceToken`; nil for all.
    public let reason: String?
    /// Of this environment only; nil for both.
    public let environment: String?

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - since: from when on.
    ///   - reason: the provider's word; nil for all.
    ///   - environment: `production` or `sandbox`; nil for both.
    public init(app: String, since: Since, reason: String?, environment: String?) {
        self.app = app
        self.since = since
        self.reason = reason
        self.environment = environment
    }
}

extension ToolDatabase {
    /// Enables devices again that pruning had disabled; those their users or apps unregistered stay disabled.
    ///
    /// Done in many short transactions: what was restored before an error stays restored. A provider that still calls a
    /// token dead gets it pruned again.
    ///
    /// - Parameters:
    ///   - request: which.
    ///   - isDryRun: whether to count only.
    /// - Returns: how many, by reason.
    /// - Throws: ``ToolError``; of kind `usage` for an app, an environment or a reason that there is not, and for a time
    ///   that is none.
    public func restore(_ request: RestoreRequest, isDryRun: Bool) throws(ToolError) -> [(
        reason: String, devices: Int64
    )] {
        try check(app: request.app, environment: request.environment)
        let known = try run { connection throws(PostgresError) in try connection.run(PruneReasons()) }
        if let reason = request.reason, !known.contains(reason) {
            throw ToolError(
                .usage,
                "“\(reason)” is no reason for pruning",
                hint: "Use one of \(known.joined(separator: ", "))."
            )
        }
        return try run(since: request.since) { connection throws(PostgresError) in
            let counts = try connection.run(CountPruned(request: request))
            guard !isDryRun else { return counts }
            var restored: [String: Int64] = [:]
            while true {
                let slice = try connection.run(RestoreDevices(request: request))
                for row in slice { restored[row.reason, default: 0] += row.devices }
                guard !slice.isEmpty else { break }
            }
            return restored.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }
}

extension ToolDatabase {
    /// Closes an app's blown prune fuses: all daemons prune again within half a second, and count anew.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - environment: `production` or `sandbox`; nil for both.
    /// - Returns: the environments whose fuse was blown.
    /// - Throws: ``ToolError``; of kind `usage` for an app or an environment that there is not.
    public func resumePruning(app: String, environment: String?) throws(ToolError) -> [String] {
        try check(app: app, environment: environment)
        return try run { connection throws(PostgresError) in
            try connection.run(CloseFuses(app: app, environment: environment))
        }
    }

    /// The environments in which an app's prune fuse is blown.
    ///
    /// - Parameter app: the app.
    /// - Returns: `production`, `sandbox`, both or none.
    /// - Throws: ``ToolError``.
    public func blownFuses(app: String) throws(ToolError) -> [String] {
        try run { connection throws(PostgresError) in
            try connection.run(StoredFuses()).filter { $0.key.app == app && $0.blownBy != nil }.map(\.key.environment)
                .sorted()
        }
    }
}

extension ToolDatabase {
    /// Refuses what would find nothing whatever was there: in an emergency a mistyped name must not look like success.
    private func check(app: String, environment: String?) throws(ToolError) {
        let environments = ["production", "sandbox"]
        if let environment, !environments.contains(environment) {
            throw ToolError(
                .usage,
                "“\(environment)” is no environment",
                hint: "Use one of \(environments.joined(separator: ", "))."
            )
        }
        let apps = try run { connection throws(PostgresError) in try connection.run(AppNames()) }
        if !apps.contains(app) {
            throw ToolError(.usage, "there is no app “\(app)”", hint: "Use one of \(apps.joined(separator: ", ")).")
        }
    }
}

/// The apps there are.
struct AppNames: PostgresStatement {
    static let name = "app_names"
    static let sql = "SELECT name FROM fanfare.apps ORDER BY name"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// The reasons for which pruning disables devices.
struct PruneReasons: PostgresStatement {
    static let name = "prune_reasons"
    static let sql = "SELECT DISTINCT reason FROM fanfare.outcome_codes WHERE outcome = 'gone' ORDER BY reason"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// The devices a ``RestoreRequest`` means.
private enum Pruned {
    static let condition = """
        a.name = $1 AND d.disabled_at >= coalesce($3::timestamptz, clock_timestamp() - make_interval(secs => $2::float8))
            AND ($4::text IS NULL OR d.disabled_reason = $4) AND ($5::text IS NULL OR t.environment = $5)
            AND d.disabled_reason IN (SELECT c.reason FROM fanfare.outcome_codes AS c WHERE c.outcome = 'gone')
        """

    static func bind(_ request: RestoreRequest, to binds: inout PostgresBinds) {
        binds.append(request.app)
        binds.append(request.since.seconds)
        binds.append(request.since.text)
        binds.append(request.reason)
        binds.append(request.environment)
    }
}

/// Counts the devices that would be restored.
struct CountPruned: PostgresStatement {
    static let name = "count_pruned"
    static let sql = """
        SELECT d.disabled_reason, count(*)
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE \(Pruned.condition)
        GROUP BY d.disabled_reason
        ORDER BY d.disabled_reason
        """

    let request: RestoreRequest

    func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, to: &binds)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (reason: String, devices: Int64) {
        (try row.string(0), try row.int64(1))
    }
}

/// Restores up to 10,000 devices, so that no transaction is long.
struct RestoreDevices: PostgresStatement {
    static let name = "restore_devices"
    static let sql = """
        WITH slice AS (
            SELECT d.id, d.disabled_reason
            FROM fanfare.devices AS d
            JOIN fanfare.apps AS a ON a.id = d.app_id
            JOIN fanfare.targets AS t ON t.id = d.target_id
            WHERE \(Pruned.condition)
            LIMIT 10000
            FOR NO KEY UPDATE OF d
        ),
        restored AS (
            UPDATE fanfare.devices AS d SET disabled_at = NULL, disabled_reason = NULL
            FROM slice AS s WHERE d.id = s.id
            RETURNING s.disabled_reason
        )
        SELECT disabled_reason, count(*) FROM restored GROUP BY disabled_reason
        """

    let request: RestoreRequest

    func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, to: &binds)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (reason: String, devices: Int64) {
        (try row.string(0), try row.int64(1))
    }
}
