internal import Threading

/// Keeps a program's sessions from an old primary.
///
/// A failover starts a new timeline. If the old primary starts again, it accepts writes, and libpq connects to the first server
/// of the URL that does. Sessions that share one instance (``PostgresOptions/timelines``) connect to the server on the highest
/// timeline, and never to a lower timeline than an earlier session. When a session reaches a higher timeline, the next statement
/// of each other session fails as `connectionLost`.
public final class PostgresTimelines: Sendable {
    /// How long the result of a comparison is used.
    private static let validity = Duration.seconds(10)

    private struct State {
        /// The highest timeline of any session, by system identifier.
        var highest: [String: UInt32] = [:]
        /// The time of the last comparison; nil after a failed connect.
        var checkedAt: ContinuousClock.Instant?
        var split: PostgresSplit?
        var isTold = true
        var isRefused = false
    }

    private let state = Locked(State())

    /// Makes an instance that knows no timeline.
    public init() {}

    /// The servers that accepted writes at the last comparison; nil if only one did.
    public var split: PostgresSplit? { state.withLock { $0.split } }

    /// Returns ``split`` at the first call after it changed.
    ///
    /// - Returns: the split; nil at later calls, and if there is none.
    public func news() -> PostgresSplit? {
        state.withLock { state in
            guard !state.isTold else { return nil }
            state.isTold = true
            return state.split
        }
    }

    /// Whether the server refused to report its timeline; timelines are not compared then.
    var isRefused: Bool { state.withLock { $0.isRefused } }

    func refused() { state.withLock { $0.isRefused = true } }

    /// Makes the next session compare the servers again, after a failed connect.
    func forget() { state.withLock { $0.checkedAt = nil } }

    /// Whether the last comparison still holds for a session on this timeline.
    func isSettled(_ here: PostgresTimeline) -> Bool {
        state.withLock { state in
            guard state.split == nil, let checkedAt = state.checkedAt, state.highest[here.system] == here.number else {
                return false
            }
            return ContinuousClock.now - checkedAt < Self.validity
        }
    }

    /// Whether another session is on a higher timeline of the same system.
    func isBehind(_ here: PostgresTimeline) -> Bool {
        state.withLock { ($0.highest[here.system] ?? 0) > here.number }
    }

    /// Stores the result of a comparison.
    ///
    /// - Parameter split: the servers that accept writes; nil if only one does.
    func looked(_ split: PostgresSplit?) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.checkedAt = now
            guard split != state.split else { return }
            (state.split, state.isTold) = (split, false)
        }
    }

    /// Records the timeline of a new session.
    ///
    /// - Throws: `wrongDatabase` if an earlier session was on a higher timeline.
    func enter(_ here: PostgresTimeline) throws(PostgresError) {
        let before = state.withLock { state -> UInt32 in
            let before = state.highest[here.system] ?? 0
            state.highest[here.system] = max(before, here.number)
            if before > here.number { state.checkedAt = nil }
            return before
        }
        guard before > here.number else { return }
        throw PostgresError(
            .wrongDatabase,
            message: "\(here), an old primary: sessions before were on timeline \(before)",
            hint: "Let the database URL lead to the new primary, and rebuild the old one as a standby (pg_rewind, "
                + "pg_basebackup). If the database was restored to its state of before the failover, restart this program."
        )
    }
}

/// The server and timeline that a session writes to.
struct PostgresTimeline: Sendable, Equatable, CustomStringConvertible {
    /// Host and port, as libpq reports them.
    let place: String
    /// The system identifier, equal for all servers of one replication family.
    let system: String
    let number: UInt32
    /// The server's start time, which distinguishes two servers from two addresses of one server.
    let startedAt: String

    /// The columns that ``init(place:columns:)`` reads.
    static let columns = [
        "(SELECT c.system_identifier FROM pg_catalog.pg_control_system() AS c)",
        "CASE WHEN NOT pg_catalog.pg_is_in_recovery() "
            + "THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END",
        "pg_catalog.pg_postmaster_start_time()",
    ]

    /// Reads the server's identity; nil for a standby, which accepts no writes.
    init?(place: String, columns: some Collection<String?>) {
        let texts = columns.compactMap(\.self)
        // The name of a WAL file begins with the timeline.
        guard texts.count == Self.columns.count, let number = UInt32(texts[1].prefix(8), radix: 16) else { return nil }
        (self.place, self.number) = (place, number)
        (system, startedAt) = (texts[0], texts[2])
    }

    /// Whether `other` is another server of the same system.
    func isBeside(_ other: PostgresTimeline) -> Bool { system == other.system && startedAt != other.startedAt }

    var description: String { "\(place) is on timeline \(number)" }
}

/// Two or more servers that accept writes for the same database, as when an old primary starts again after a failover.
public struct PostgresSplit: Sendable, Equatable, CustomStringConvertible {
    /// The servers and their timelines.
    public let description: String
    /// Names the server to stop, and how to rebuild it.
    public let advice: String

    /// Describes the servers; nil if `others` is empty.
    init?(used: PostgresTimeline, others: [PostgresTimeline]) {
        guard !others.isEmpty else { return nil }
        let list = others.map(\.description).joined(separator: "; ")
        let places = others.map(\.place).joined(separator: "; ")
        description = "two servers take writes: \(list); \(used), and is used"
        advice =
            "Stop the old primary (\(places)), and rebuild it as a standby with pg_rewind or pg_basebackup. "
            + "Nothing is sent of what is written there."
    }
}
