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
    /// How many are checked together.
    static let limit = 200
    static let sql = """
        SELECT v.id, v.version, a.name, r.name, v.definition::text
        FROM fanfare.rule_versions AS v
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE v.state = 'unchecked'
        ORDER BY v.id
        LIMIT $1::int
        """

    func bind(to binds: inout PostgresBinds) {
        binds.append(Int32(Self.limit))
    }

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
package struct RuleColumns: Equatable {
    var eventType: String
    package var whenPath: String?
    var audience: String
    package var audiencePath: String?
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

/// A version that was found good.
struct ActivatedRule {
    let id: Int32
    let columns: RuleColumns
}

/// Puts checked versions into force in place of the ones before them.
///
/// A version that was retired while this waited for it stays so: `rules` is then still seen as it was before. Of several
/// versions of one rule the last is in force.
struct ActivateRules: PostgresStatement {
    static let name = "activate_rules"
    static let sql = """
        WITH good AS (
            SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::smallint[], $10::bigint[], $11::boolean[], $12::boolean[], $13::text[]) AS g (id, event_type, when_path,
                audience, audience_path, devices_path, kind, platform, lane, ttl, supersede, enabled, native_platform)
        ),
        activated AS (
            UPDATE fanfare.rule_versions AS v
            SET state = 'active', checked_at = clock_timestamp(), app_id = r.app_id, rule_created_at = r.created_at,
                event_type = g.event_type, when_path = g.when_path::jsonpath, audience = g.audience,
                audience_path = g.audience_path::jsonpath, devices_path = g.devices_path::jsonpath, kind = g.kind,
                platform = g.platform, lane = g.lane, ttl = make_interval(secs => g.ttl::float8), supersede = g.supersede,
                enabled = g.enabled,
                native_target_id = CASE WHEN g.native_platform IS NOT NULL
                    THEN fanfare.native_target_id_for(r.app_id, g.native_platform, g.audience) END,
                retired_at = coalesce(v.retired_at, CASE WHEN r.dropped_at IS NOT NULL OR EXISTS (
                    SELECT FROM fanfare.rule_versions AS n
                    WHERE n.rule_id = v.rule_id AND n.version > v.version AND (n.state = 'active' OR n.id = ANY ($1)))
                    THEN clock_timestamp() END)
            FROM good AS g, fanfare.rules AS r
            WHERE v.id = g.id AND v.state = 'unchecked' AND r.id = v.rule_id
            RETURNING v.rule_id, v.version
        ),
        newest AS (
            SELECT a.rule_id, max(a.version) AS version FROM activated AS a GROUP BY a.rule_id
        )
        UPDATE fanfare.rule_versions AS old SET retired_at = clock_timestamp()
        FROM newest AS n
        WHERE old.rule_id = n.rule_id AND old.version < n.version AND old.retired_at IS NULL AND old.state = 'active'
        """

    let rules: [ActivatedRule]

    func bind(to binds: inout PostgresBinds) {
        let columns = rules.map(\.columns)
        binds.append(rules.map(\.id))
        binds.append(columns.map(\.eventType))
        binds.append(columns.map(\.whenPath))
        binds.append(columns.map(\.audience))
        binds.append(columns.map(\.audiencePath))
        binds.append(columns.map(\.devicesPath))
        binds.append(columns.map(\.kind))
        binds.append(columns.map(\.platform))
        binds.append(columns.map(\.lane))
        binds.append(columns.map(\.ttlSeconds))
        binds.append(columns.map(\.supersede))
        binds.append(columns.map(\.enabled))
        binds.append(columns.map(\.nativePlatform))
    }
}

/// A version that was found bad.
struct RefusedRule {
    let id: Int32
    let reason: String
}

/// Marks versions as refused; the last active one of each rule stays in force.
struct RefuseRules: PostgresStatement {
    static let name = "refuse_rules"
    static let sql = """
        UPDATE fanfare.rule_versions AS v SET state = 'refused', reason = b.reason, checked_at = clock_timestamp()
        FROM unnest($1::int[], $2::text[]) AS b (id, reason)
        WHERE v.id = b.id AND v.state = 'unchecked'
        """

    let rules: [RefusedRule]

    func bind(to binds: inout PostgresBinds) {
        binds.append(rules.map(\.id))
        binds.append(rules.map(\.reason))
    }
}

/// What PostgreSQL says of a jsonpath.
struct ProbedPath {
    /// Why a rule cannot have it; nil if it can.
    let problem: (reason: String, hint: String)?
    /// Whether ``RulePath/elements`` can stand behind it.
    let hasElements: Bool
}

/// Has PostgreSQL look at jsonpaths, in their order.
struct ProbePaths: PostgresStatement {
    static let name = "probe_paths"
    static let sql = """
        SELECT f.reason, f.hint, e.reason IS NULL
        FROM unnest($1::text[], $2::boolean[]) WITH ORDINALITY AS p (path, is_predicate, position)
        CROSS JOIN LATERAL fanfare.path_fault(p.path, p.is_predicate) AS f
        CROSS JOIN LATERAL fanfare.path_fault(CASE WHEN NOT p.is_predicate THEN p.path || $3::text END, false) AS e
        ORDER BY p.position
        """

    let paths: [RulePath]

    func bind(to binds: inout PostgresBinds) {
        binds.append(paths.map(\.text))
        binds.append(paths.map(\.isPredicate))
        binds.append(RulePath.elements)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> ProbedPath {
        let reason = try row.string(orNil: 0)
        let hint = try row.string(orNil: 1)
        return ProbedPath(problem: reason.map { ($0, hint ?? "") }, hasElements: try row.bool(2))
    }
}
