internal import Threading

/// The timelines that a program's sessions have been on.
///
/// A failover begins a new timeline. The old primary may start again and take writes, and libpq takes the first server of a URL
/// that does. Sessions whose options share one of these use the server on the highest timeline of those that answer
/// (``PostgresOptions/timelines``), and none on a lower timeline than a session before. Once one is on a higher timeline, the
/// others are lost with their next statement.
public final class PostgresTimelines: Sendable {
    /// How long it holds that no other server took writes.
    private static let validity = Duration.seconds(10)

    private struct State {
        /// By system identifier the highest timeline that a session was on.
        var highest: [String: UInt32] = [:]
        /// When the other servers were last looked at; nil once a connect has failed.
        var lookedAt: ContinuousClock.Instant?
        var split: PostgresSplit?
        var isTold = true
        var isRefused = false
    }

    private let state = Locked(State())

    /// Makes one that knows of no timeline.
    public init() {}

    /// The servers that took writes side by side when they were last looked at; nil where there was one.
    public var split: PostgresSplit? { state.withLock { $0.split } }

    /// ``split``, if nobody has asked for it since it was found.
    ///
    /// - Returns: each finding once.
    public func news() -> PostgresSplit? {
        state.withLock { state in
            guard !state.isTold else { return nil }
            state.isTold = true
            return state.split
        }
    }

    /// Whether the server refused to tell its timeline: nothing is compared then.
    var isRefused: Bool { state.withLock { $0.isRefused } }

    func refused() { state.withLock { $0.isRefused = true } }

    /// A connect failed: whatever was known of the servers may have changed.
    func forget() { state.withLock { $0.lookedAt = nil } }

    /// Whether a session there says enough, or the other servers must be looked at too.
    func isSettled(_ here: PostgresTimeline) -> Bool {
        state.withLock { state in
            guard state.split == nil, let lookedAt = state.lookedAt, state.highest[here.system] == here.number else {
                return false
            }
            return ContinuousClock.now - lookedAt < Self.validity
        }
    }

    /// Whether a session there is one with an old primary.
    func isBehind(_ here: PostgresTimeline) -> Bool {
        state.withLock { ($0.highest[here.system] ?? 0) > here.number }
    }

    /// The other servers were looked at.
    ///
    /// - Parameter split: which take writes too; nil for none.
    func looked(_ split: PostgresSplit?) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.lookedAt = now
            guard split != state.split else { return }
            (state.split, state.isTold) = (split, false)
        }
    }

    /// A session is about to work there.
    ///
    /// - Throws: `wrongDatabase` if one before was on a higher timeline.
    func enter(_ here: PostgresTimeline) throws(PostgresError) {
        let before = state.withLock { state -> UInt32 in
            let before = state.highest[here.system] ?? 0
            state.highest[here.system] = max(before, here.number)
            if before > here.number { state.lookedAt = nil }
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

/// Where a session's writes go.
struct PostgresTimeline: Sendable, Equatable, CustomStringConvertible {
    /// Host and port, as libpq calls them.
    let place: String
    /// The same for all servers that come from one.
    let system: String
    let number: UInt32
    /// Tells two servers apart from two addresses of one.
    let startedAt: String

    /// What ``init(place:columns:)`` reads.
    static let columns = [
        "(SELECT c.system_identifier FROM pg_catalog.pg_control_system() AS c)",
        "CASE WHEN NOT pg_catalog.pg_is_in_recovery() "
            + "THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END",
        "pg_catalog.pg_postmaster_start_time()",
    ]

    /// Reads what the server says of itself; nil for a standby, which takes no writes.
    init?(place: String, columns: some Collection<String?>) {
        let texts = columns.compactMap(\.self)
        // The name of a WAL file begins with the timeline.
        guard texts.count == Self.columns.count, let number = UInt32(texts[1].prefix(8), radix: 16) else { return nil }
        (self.place, self.number) = (place, number)
        (system, startedAt) = (texts[0], texts[2])
    }

    /// Whether both take writes for the same data, and are two.
    func isBeside(_ other: PostgresTimeline) -> Bool { system == other.system && startedAt != other.startedAt }

    var description: String { "\(place) is on timeline \(number)" }
}

/// Servers that take writes side by side for what was one database, as when an old primary starts again after a failover.
public struct PostgresSplit: Sendable, Equatable, CustomStringConvertible {
    /// Which servers, on which timelines.
    public let description: String
    /// What to do about it.
    public let advice: String

    /// Nil if there are no others.
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
