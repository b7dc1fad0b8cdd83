/// The settings that a session applies right after connecting, in place of the defaults of server, database and role.
public struct SessionSettings: Sendable {
    /// Names and values in the order they are set.
    public private(set) var pairs: [(name: String, value: String)]
    /// Names and values of settings that older servers do not have; they are not set there.
    public private(set) var newerPairs: [(name: String, value: String)]

    /// Creates settings from scratch.
    ///
    /// - Parameters:
    ///   - pairs: names and values, as `SET` takes them; the server rejects unknown names at connect.
    ///   - newerPairs: names and values that are set at connect if the server knows the name.
    public init(_ pairs: [(name: String, value: String)], whereKnown newerPairs: [(name: String, value: String)] = []) {
        self.pairs = pairs
        self.newerPairs = newerPairs
    }

    /// Returns these settings with one added or replaced.
    ///
    /// - Parameters:
    ///   - name: the setting.
    ///   - value: its value, as text: `"200ms"`, `"off"`.
    /// - Returns: the changed copy.
    public func setting(_ name: String, to value: String) -> SessionSettings {
        var copy = self
        copy.pairs.removeAll { $0.name == name }
        copy.pairs.append((name, value))
        return copy
    }
}

extension SessionSettings {
    /// For commands and tests: resets the settings that a database may have changed, and no others.
    ///
    /// `search_path` ends in `pg_temp`, so that a temporary table cannot hide a table of Fanfare.
    public static let plain = SessionSettings(
        [
            ("default_transaction_isolation", "read committed"),
            ("default_transaction_read_only", "off"),
            ("default_transaction_deferrable", "off"),
            ("search_path", "fanfare, pg_catalog, pg_temp"),
            ("TimeZone", "UTC"),
            ("DateStyle", "ISO, YMD"),
            ("IntervalStyle", "iso_8601"),
            ("bytea_output", "hex"),
            ("extra_float_digits", "1"),
            ("row_security", "on"),
            ("client_min_messages", "warning"),
            ("standard_conforming_strings", "on"),
            ("statement_timeout", "0"),
            ("idle_session_timeout", "0"),
        ],
        // PostgreSQL 17 and newer. This timeout ends the session, which looks like a lost connection.
        whereKnown: [("transaction_timeout", "0")]
    )

    /// For slices of large audiences: the normal planner, with timeouts.
    ///
    /// `lock_timeout` stays well below `statement_timeout`, so that waiting for a lock (55P03, retry) is never mistaken
    /// for a statement that is too slow (57014).
    public static let slices =
        plain
        .setting("statement_timeout", to: "30s")
        .setting("lock_timeout", to: "5s")
        .setting("idle_in_transaction_session_timeout", to: "5s")
        .setting("jit", to: "off")
        .setting("max_parallel_workers_per_gather", to: "0")

    /// Generic plans, restricted to index nested loops.
    ///
    /// Statistics of queue tables are always wrong, and nested loops are all that statements on them ever need.
    public static let nestedLoops = SessionSettings([
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
    ])

    /// For the queue's statements: prepared once, planned once, restricted to index nested loops.
    public static let queue = nestedLoops.pairs.reduce(slices) { $0.setting($1.name, to: $1.value) }
}
