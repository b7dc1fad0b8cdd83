package import FanfareCore
internal import FanfareStore
package import PostgresClient

/// The reasons why a device of an audience would get nothing, or not at once, in the order in which a claim checks
/// them.
package enum Suppression: String, CaseIterable, Sendable {
    /// The user is in the rule's holdout.
    case heldOut = "held_out"
    /// The user opted out of the rule's category.
    case optedOut = "opted_out"
    /// The user snoozed the category, and pushes are not held until the snooze ends.
    case snoozed
    /// It is in quiet hours that drop pushes.
    case quiet
    /// A cap is used up for the user.
    case capped
    /// It would be held until it has expired.
    case expired
    /// It would be held until the snooze ends.
    case heldSnoozed = "held_snoozed"
    /// It would be held until the quiet hours end.
    case heldQuiet = "held_quiet"
}

/// When the devices of an audience are due.
package struct AudienceTimes: Sendable {
    /// When the event is emitted; nil for now.
    let begin: Timestamp?
    /// The wall time at which a device is due; nil if all are due at once.
    let wall: String?
    /// The time zone for devices without one.
    let defaultZone: String

    /// - Parameters:
    ///   - begin: when the event is emitted; nil for now.
    ///   - wall: the wall time at which a device is due; nil if all are due at once.
    ///   - defaultZone: the time zone for devices without one.
    package init(from begin: Timestamp? = nil, wall: String? = nil, defaultZone: String = "UTC") {
        (self.begin, self.wall, self.defaultZone) = (begin, wall, defaultZone)
    }
}

extension AudienceQuery {
    /// The devices that a statement reads if all devices are scanned for the audience.
    private static let slice = 100_000

    /// Counts the devices of the audience to which a suppression applies, each once, in slices as in planning; locks
    /// nothing.
    ///
    /// Caps are checked as they are now, regardless of when the devices are due.
    ///
    /// - Parameters:
    ///   - rule: the rule.
    ///   - times: when devices are due.
    ///   - isScanned: whether all devices are scanned for the audience.
    ///   - patience: the time after which no further slice is counted; nil for no limit.
    ///   - connection: a connection whose statement timeout the caller has set.
    /// - Returns: the reasons found; nil if the time ended before the audience did.
    /// - Throws: the database's error.
    package func suppressions(
        by rule: RuleDefinition,
        _ times: AudienceTimes,
        isScanned: Bool,
        within patience: Duration? = nil,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Suppression: Int64]? {
        let begin = ContinuousClock.now
        let policy = "SELECT FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id"
        let isQuiet =
            try connection.query(
                "SELECT EXISTS (\(policy) WHERE a.name = $1 AND p.quiet_from IS NOT NULL)",
                binds: [rule.app]
            ).rows[0][0] == "t"
        guard
            rule.suppressions.asks(in: rule.lane, isAppQuiet: isQuiet) || !rule.suppressions.caps.isEmpty
                || rule.groups.holdout != nil
        else { return [:] }
        let own = Self.binds(rule, times)
        let sql = suppressionsSQL
        var counts: [Suppression: Int64] = [:]
        var low: Int64 = -1
        while true {
            var high = Int64.max
            if isScanned {
                let next =
                    "SELECT max(id) FROM (SELECT id FROM fanfare.devices WHERE id > $1 ORDER BY id LIMIT \(Self.slice)) AS d"
                guard let last = try connection.query(next, binds: [String(low)]).rows[0][0].flatMap({ Int64($0) })
                else {
                    break
                }
                high = last
            }
            for row in try connection.query(sql, binds: binds + own + [String(low), String(high)]).rows {
                guard let reason = row[0].flatMap(Suppression.init), let count = row[1].flatMap({ Int64($0) }) else {
                    continue
                }
                counts[reason, default: 0] += count
            }
            guard isScanned else { break }
            low = high
            if let patience, ContinuousClock.now - begin > patience { return nil }
        }
        return counts
    }

    private static func binds(_ rule: RuleDefinition, _ times: AudienceTimes) -> [String?] {
        func text(_ flag: Bool) -> String { flag ? "t" : "f" }
        let hours = rule.suppressions.ownHours
        var isHeld: String?
        if let hours { isHeld = text(hours.mode == .hold) }
        var begin: String?
        if let time = times.begin { begin = String(time.microseconds) }
        let caps: [JSONValue] = rule.suppressions.caps.map { .string($0) }
        var binds: [String?] = [rule.suppressions.category, text(rule.suppressions.goesByApp(in: rule.lane))]
        binds += [hours?.from, hours?.until, isHeld]
        binds += [JSONValue.array(caps).text, rule.json.text]
        binds += [begin, times.wall, times.defaultZone, String(rule.ttl?.seconds ?? 86_400)]
        return binds
    }

    /// A query that binds, after the audience's own values: category, whether the app's quiet hours apply, the rule's
    /// own quiet hours (three values), caps, the rule, begin, wall time, its zone, ttl, and the range of ids.
    private var suppressionsSQL: String {
        func own(_ number: Int) -> String { "$\(binds.count + number)" }
        let head = prologue.isEmpty ? "WITH " : prologue.trimmingTrailingSpace + ", "
        return """
            \(head)app AS MATERIALIZED (
                SELECT a.id, c.now, c.begin, coalesce(p.time_zone, 'UTC') AS fallback,
                    CASE WHEN \(own(2))::boolean THEN p.quiet_from ELSE \(own(3))::time END AS quiet_from,
                    CASE WHEN \(own(2))::boolean THEN p.quiet_until ELSE \(own(4))::time END AS quiet_until,
                    coalesce(CASE WHEN \(own(2))::boolean THEN p.quiet_mode = 'hold' ELSE \(own(5))::boolean END, false) AS is_held
                FROM fanfare.apps AS a LEFT JOIN fanfare.policies AS p ON p.app_id = a.id
                CROSS JOIN (
                    SELECT n.now, coalesce(to_timestamp(\(own(8))::bigint / 1000000.0), n.now) AS begin
                    FROM (SELECT clock_timestamp() AS now OFFSET 0) AS n OFFSET 0
                ) AS c
                WHERE a.name = $1
            ),
            caps AS MATERIALIZED (
                -- As TakeCaps has it.
                SELECT (extract(epoch FROM a.now) * 1000)::bigint AS now, coalesce(bit_or(CASE WHEN \(own(6))::jsonb ? c.name THEN 1 << b.bit END), 0) AS mask,
                    array_agg(coalesce(c.max_count, 0) ORDER BY b.bit) AS max_counts,
                    array_agg(CASE WHEN c.bit IS NULL THEN \(Int64.max)
                        ELSE (extract(epoch FROM greatest(c.since, a.now - c.period)) * 1000)::bigint END ORDER BY b.bit) AS floors
                FROM app AS a CROSS JOIN generate_series(0, 15) AS b (bit)
                LEFT JOIN fanfare.caps AS c ON c.app_id = a.id AND c.bit = b.bit AND c.retired_at IS NULL
                GROUP BY a.now
            ),
            audience AS MATERIALIZED (
                SELECT d.id, d.user_id, coalesce(d.time_zone, '') AS zone \(source)
                    AND d.disabled_at IS NULL AND d.id > \(own(12))::bigint AND d.id <= \(own(13))::bigint
            ),
            zones AS MATERIALIZED (
                SELECT z.zone, i.due_at + \(own(11))::bigint * interval '1 second' AS late_at, greatest(i.due_at, a.begin) AS at,
                    CASE WHEN a.quiet_from IS NOT NULL
                        THEN fanfare.wakes_at(greatest(i.due_at, a.begin), fanfare.zone(z.zone, a.fallback), a.quiet_from, a.quiet_until) END AS wakes
                FROM (SELECT DISTINCT zone FROM audience) AS z CROSS JOIN app AS a
                CROSS JOIN LATERAL (
                    SELECT coalesce(fanfare.instant(\(own(9))::timestamp, fanfare.zone(z.zone, \(own(10)))), a.begin) AS due_at OFFSET 0
                ) AS i
            ),
            judged AS (
                SELECT CASE
                    WHEN g.holdout > 0 AND fanfare.group_of(g.seed, g.holdout, NULL, NULL, coalesce(d.user_id, 'device:' || d.id)) IS NOT NULL THEN 'held_out'
                    WHEN p.is_out THEN 'opted_out'
                    WHEN p.until IS NULL AND z.wakes IS NULL THEN CASE WHEN x.grants IS NULL THEN NULL
                        WHEN fanfare.take(x.grants, ARRAY[0, c.now << 16 | c.mask], c.max_counts, c.floors, false) IS NULL THEN 'capped' END
                    WHEN NOT a.is_held THEN CASE WHEN p.until IS NOT NULL THEN 'snoozed' ELSE 'quiet' END
                    WHEN greatest(p.until, z.wakes) >= z.late_at THEN 'expired'
                    WHEN p.until >= z.wakes OR z.wakes IS NULL THEN 'held_snoozed'
                    ELSE 'held_quiet' END AS reason
                FROM audience AS d JOIN zones AS z ON z.zone = d.zone CROSS JOIN app AS a CROSS JOIN caps AS c
                CROSS JOIN LATERAL fanfare.rule_groups(\(own(7))::jsonb) AS g
                CROSS JOIN LATERAL (
                    SELECT bool_or(x.opted_out) AS is_out, max(x.snoozed_until) FILTER (WHERE x.snoozed_until > z.at) AS until
                    FROM fanfare.preferences AS x
                    WHERE \(own(1))::text IS NOT NULL AND x.app_id = a.id AND x.user_id = d.user_id AND x.category IN ('*', \(own(1))) OFFSET 0
                ) AS p
                LEFT JOIN LATERAL (
                    SELECT y.grants FROM fanfare.cap_grants AS y WHERE y.app_id = a.id AND y.user_id = d.user_id OFFSET 0
                ) AS x ON c.mask <> 0
            )
            SELECT reason, count(*) FROM judged WHERE reason IS NOT NULL GROUP BY reason
            """
    }
}

extension String {
    /// The text without its trailing space, if it has one.
    fileprivate var trimmingTrailingSpace: String { hasSuffix(" ") ? String(dropLast()) : self }
}
