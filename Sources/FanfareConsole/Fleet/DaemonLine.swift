internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

/// One running daemon.
struct DaemonLine: ViewContext {
    let name: String
    let badge: Badge
    let version: String
    let started: Moment
    /// The time since its last heartbeat: `2 s ago`.
    let seen: String
    let perSecond: String
    let spark: Markup
    let leads: String
}

extension DaemonLine {
    /// Shows a daemon.
    ///
    /// - Parameters:
    ///   - row: the daemon's last report.
    ///   - paces: the send rates of the daemons.
    ///   - now: the database's time, in microseconds since 1970.
    init(_ row: DaemonRow, _ paces: DaemonPaces, at now: Int64) {
        let pace = paces.perSecond(row.id)
        self.init(
            name: row.name,
            badge: Self.badge(row),
            version: row.version,
            started: Moment(row.startedAt.microseconds, .short),
            seen: FigureText.ago(now - row.heartbeatAt.microseconds),
            perSecond: row.isAlive ? Self.rate(pace.last, over: paces.window(row.id)) : "–",
            spark: row.isAlive ? Sparkline.markup(pace) : .none,
            leads: row.leads.isEmpty ? "–" : row.leads.joined(separator: ", ")
        )
    }

    private static func rate(_ rate: Double?, over seconds: Double?) -> String {
        guard let rate, let seconds else { return "–" }
        return "\(FigureText.short(rate))/s over \(FigureText.duration(seconds.rounded()))"
    }

    private static func badge(_ row: DaemonRow) -> Badge {
        guard row.isAlive else { return Badge(.bad, "lease expired") }
        let breakers = row.report["breakers"]?.objectValue?.members ?? []
        if breakers.contains(where: { $0.value.stringValue == "open" }) { return Badge(.warn, "breaker open") }
        return row.report["listening"]?.boolValue == false ? Badge(.warn, "not listening") : Badge(.good, "alive")
    }
}

/// A role that one daemon at a time holds.
struct LeaderLine: ViewContext {
    let role: String
    /// The role's task.
    let words: String
    let daemon: String?
}

extension LeaderLine {
    /// Returns the roles that one daemon at a time holds, and their holders.
    ///
    /// - Parameter daemons: all daemons in the table.
    /// - Returns: a line for each role that a running daemon could hold.
    static func lines(_ daemons: [DaemonRow]) -> [LeaderLine] {
        let alive = daemons.filter(\.isAlive)
        let roles = Set(alive.flatMap { ($0.report["roles"]?.arrayValue ?? []).compactMap(\.stringValue) })
        return roles.sorted().map { role in
            LeaderLine(role: role, words: words[role] ?? "", daemon: alive.first { $0.leads.contains(role) }?.name)
        }
    }

    private static let words = [
        "maintenance": "checks rules and campaigns, applies retention, audits",
        "channels": "listens on the configured channels",
    ]
}
