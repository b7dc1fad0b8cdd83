internal import PostgresClient

/// A rule version that nobody has checked.
struct UncheckedRule {
    let id: Int32
    let version: Int32
    let app: String
    let name: String
    let definition: String
}

/// Rule versions that came through SQL and wait to be checked.
struct UncheckedRules: PostgresStatement {
    static let name = "unchecked_rules"
    static let sql = """
        SELECT v.id, v.version, a.name, r.name, v.definition::text
        FROM fanfare.rule_versions AS v
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE v.state = 'unchecked'
        ORDER BY v.id
        LIMIT 100
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> UncheckedRule {
        UncheckedRule(
            id: try row.int32(0),
            version: try row.int32(1),
            app: try row.string(2),
            name: try row.string(3),
            definition: try row.string(4)
        )
    }
}

/// What planning needs of a rule that was found good.
struct RuleColumns: Equatable {
    var eventType: String
    var whenPath: String?
    var audience: String
    var audiencePath: String?
    /// Who keeps the audience; nil if Fanfare does.
    var nativePlatform: String?
    var devicesPath: String?
    var kind: String
    var platform: String?
    var lane: Int16
    var ttlSeconds: Int64?
    var supersede: Bool
    var enabled: Bool
}

/// Puts a checked version into force in place of the ones before it.
///
/// A version that was retired while this waited for it stays so: `rules` is then still seen as it was before.
struct ActivateRule: PostgresStatement {
    static let name = "activate_rule"
    static let sql = """
        WITH activated AS (
            UPDATE fanfare.rule_versions AS v
            SET state = 'active', checked_at = clock_timestamp(), app_id = r.app_id, rule_created_at = r.created_at,
                event_type = $2, when_path = $3::jsonpath, audience = $4, audience_path = $5::jsonpath,
                devices_path = $6::jsonpath, kind = $7, platform = $8, lane = $9,
                ttl = make_interval(secs => $10::bigint::float8), supersede = $11, enabled = $12,
                native_target_id = CASE WHEN $13::text IS NOT NULL
                    THEN fanfare.native_target_id_for(r.app_id, $13, $4) END,
                retired_at = coalesce(v.retired_at, CASE WHEN r.dropped_at IS NOT NULL OR EXISTS (
                    SELECT FROM fanfare.rule_versions AS n
                    WHERE n.rule_id = v.rule_id AND n.version > v.version AND n.state = 'active') THEN clock_timestamp() END)
            FROM fanfare.rules AS r
            WHERE v.id = $1 AND v.state = 'unchecked' AND r.id = v.rule_id
            RETURNING v.rule_id, v.version
        )
        UPDATE fanfare.rule_versions AS old SET retired_at = clock_timestamp()
        FROM activated AS a
        WHERE old.rule_id = a.rule_id AND old.version < a.version AND old.retired_at IS NULL AND old.state = 'active'
        """

    let id: Int32
    let columns: RuleColumns

    func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(columns.eventType)
        binds.append(columns.whenPath)
        binds.append(columns.audience)
        binds.append(columns.audiencePath)
        binds.append(columns.devicesPath)
        binds.append(columns.kind)
        binds.append(columns.platform)
        binds.append(columns.lane)
        binds.append(columns.ttlSeconds)
        binds.append(columns.supersede)
        binds.append(columns.enabled)
        binds.append(columns.nativePlatform)
    }
}

/// Marks a version as refused; the last active one stays in force.
struct RefuseRule: PostgresStatement {
    static let name = "refuse_rule"
    static let sql = """
        UPDATE fanfare.rule_versions SET state = 'refused', reason = $2, checked_at = clock_timestamp()
        WHERE id = $1 AND state = 'unchecked'
        """

    let id: Int32
    let reason: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(reason)
    }
}

/// Proves that a text is a jsonpath, and, where a predicate is wanted, that it is one.
///
/// The loud form: `silent` would hide "not a predicate" (22038). Undefined variables (42704) show here too; and the templates
/// of `.datetime("…")`, which are read only when there is a value, and fail then whatever is silent (22007).
struct ProbePath: PostgresStatement {
    static let name = "probe_path"
    static let sql = #"""
        SELECT CASE WHEN $2 THEN jsonb_path_match_tz('{}', $1::jsonpath) IS NULL
            ELSE (SELECT count(*) FROM jsonb_path_query_tz('{}', $1::jsonpath, '{}', true)) = 0 END,
            (SELECT count(*)
            FROM regexp_matches($1, '\.\s*datetime\s*\(\s*("(?:[^"\\]|\\.)*")\s*\)', 'g') AS template
            CROSS JOIN LATERAL
                jsonb_path_query_tz('"x"', ('$.datetime(' || template[1] || ')')::jsonpath, '{}', true))
        """#

    let path: String
    let isPredicate: Bool

    func bind(to binds: inout PostgresBinds) {
        binds.append(path)
        binds.append(isPredicate)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
