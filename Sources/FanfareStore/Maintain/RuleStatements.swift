internal import FanfareCore
package import PostgresClient

/// A rule version that no daemon has checked.
package struct UncheckedRule {
    package let id: Int32
    package let version: Int32
    package let app: String
    package let name: String
    package let definition: String
}

/// Reads rule versions that were stored through SQL and wait to be checked.
package struct UncheckedRules: PostgresStatement {
    package static let name = "unchecked_rules"
    /// How many are checked together.
    package static let limit = 200
    package static let sql = """
        SELECT v.id, v.version, a.name, r.name, v.definition::text
        FROM fanfare.rule_versions AS v
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE v.state = 'unchecked'
        ORDER BY v.id
        LIMIT $1::int
        """

    package init() {}

    package func bind(to binds: inout PostgresBinds) {
        binds.append(Int32(Self.limit))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> UncheckedRule {
        UncheckedRule(
            id: try row.int32(0),
            version: try row.int32(1),
            app: try row.string(2),
            name: try row.string(3),
            definition: try row.string(4)
        )
    }
}

/// A version that passed its checks.
package struct ActivatedRule {
    package let id: Int32
    package let columns: RuleColumns

    package init(id: Int32, columns: RuleColumns) {
        self.id = id
        self.columns = columns
    }
}

/// Puts checked versions into force in place of the earlier ones.
///
/// A version that was retired while this waited for it stays retired: `rules` is then still read as it was before. If
/// there are several versions of one rule, the last is put into force.
///
/// If a rule gathers, its version takes the resulting digests, and a second version with the same number and definition
/// takes the events. That version belongs to a separate rule, whose name authors cannot use; the separate rule ends
/// with the last version that gathers.
package struct ActivateRules: PostgresStatement {
    package static let name = "activate_rules"
    package static let sql = """
        WITH good AS (
            SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::smallint[], $10::bigint[], $11::boolean[], $12::boolean[], $13::text[], $14::boolean[], $15::text[], $16::text[],
                $17::text[], $18::bigint[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bigint[], $25::boolean[]) AS g (id, event_type,
                when_path, audience, audience_path, devices_path, kind, provider, lane, ttl, supersede, enabled, native_provider,
                is_digest, retract_event, retract_by, retract_user, retract_within, permissions, presents,
                conversion_event, conversion_user, conversion_value, conversion_within, is_converted_by_sql)
        ),
        activated AS (
            UPDATE fanfare.rule_versions AS v
            SET state = 'active', checked_at = clock_timestamp(), app_id = r.app_id, rule_created_at = r.created_at,
                event_type = CASE WHEN g.is_digest THEN concat('digest.', a.name, '.', r.name) ELSE g.event_type END,
                when_path = CASE WHEN NOT g.is_digest THEN g.when_path::jsonpath END, audience = g.audience,
                audience_path = g.audience_path::jsonpath, devices_path = g.devices_path::jsonpath, kind = g.kind,
                provider = g.provider, lane = g.lane, ttl = make_interval(secs => g.ttl::float8), supersede = g.supersede,
                enabled = g.enabled, retract_event = g.retract_event,
                retract_by = fanfare.texts(g.retract_by::jsonb), retract_user = fanfare.texts(g.retract_user::jsonb),
                retract_within = make_interval(secs => g.retract_within::float8),
                permissions = g.permissions::text[], presents = g.presents::text[],
                conversion_event = CASE WHEN g.is_converted_by_sql THEN 'sql:' || v.rule_id ELSE g.conversion_event END, conversion_user = fanfare.texts(g.conversion_user::jsonb),
                conversion_value = fanfare.texts(g.conversion_value::jsonb), conversion_within = make_interval(secs => g.conversion_within::float8),
                native_target_id = CASE WHEN g.native_provider IS NOT NULL
                    THEN fanfare.native_target_id_for(r.app_id, g.native_provider, g.audience) END,
                retired_at = coalesce(v.retired_at, CASE WHEN r.dropped_at IS NOT NULL OR EXISTS (
                    SELECT FROM fanfare.rule_versions AS n
                    WHERE n.rule_id = v.rule_id AND n.version > v.version AND n.winner_of IS NULL AND (n.state = 'active' OR n.id = ANY ($1)))
                    THEN clock_timestamp() END)
            FROM good AS g, fanfare.rules AS r, fanfare.apps AS a
            WHERE v.id = g.id AND v.state = 'unchecked' AND r.id = v.rule_id AND a.id = r.app_id
            RETURNING v.rule_id, v.version, v.definition, v.retired_at, v.app_id, v.rule_created_at, v.kind, v.ttl, v.enabled,
                g.event_type, g.when_path, g.is_digest, 'gather/' || r.name AS gatherer
        ),
        newest AS (
            SELECT DISTINCT ON (a.rule_id) a.* FROM activated AS a ORDER BY a.rule_id, a.version DESC
        ),
        gatherers AS (
            INSERT INTO fanfare.rules AS r (app_id, name, created_at)
            SELECT n.app_id, n.gatherer, n.rule_created_at FROM newest AS n WHERE n.is_digest AND n.retired_at IS NULL
            -- To learn the id of one that there is.
            ON CONFLICT (app_id, name) WHERE dropped_at IS NULL DO UPDATE SET name = excluded.name
            RETURNING r.id, r.app_id, r.name
        ),
        digest AS (
            INSERT INTO fanfare.rule_versions (rule_id, version, definition, state, checked_at, app_id, event_type, rule_created_at,
                when_path, audience, kind, lane, ttl, enabled)
            SELECT g.id, n.version, n.definition, 'active', clock_timestamp(), n.app_id, n.event_type, n.rule_created_at,
                n.when_path::jsonpath, 'gather', n.kind, \(Lane.normal.rawValue), n.ttl, n.enabled
            FROM gatherers AS g JOIN newest AS n ON n.app_id = g.app_id AND n.gatherer = g.name
        ),
        -- Those that there were; most rules never had any.
        standing AS (
            SELECT r.id AS rule_id, n.version, n.is_digest FROM newest AS n
            JOIN fanfare.rules AS r ON r.app_id = n.app_id AND r.name = n.gatherer AND r.dropped_at IS NULL
        ),
        ended AS (
            UPDATE fanfare.rules AS r SET dropped_at = clock_timestamp() FROM standing AS s WHERE r.id = s.rule_id AND NOT s.is_digest
        )
        UPDATE fanfare.rule_versions AS old SET retired_at = clock_timestamp()
        FROM (SELECT rule_id, version FROM newest UNION ALL SELECT rule_id, version FROM standing) AS n
        WHERE old.rule_id = n.rule_id AND old.version < n.version AND old.retired_at IS NULL AND old.state = 'active'
        """

    package let rules: [ActivatedRule]

    package init(rules: [ActivatedRule]) {
        self.rules = rules
    }

    package func bind(to binds: inout PostgresBinds) {
        let columns = rules.map(\.columns)
        binds.append(rules.map(\.id))
        binds.append(columns.map(\.eventType))
        binds.append(columns.map(\.whenPath))
        binds.append(columns.map(\.audience))
        binds.append(columns.map(\.audiencePath))
        binds.append(columns.map(\.devicesPath))
        binds.append(columns.map(\.kind))
        binds.append(columns.map(\.provider))
        binds.append(columns.map(\.lane))
        binds.append(columns.map(\.ttlSeconds))
        binds.append(columns.map(\.supersede))
        binds.append(columns.map(\.enabled))
        binds.append(columns.map(\.nativeProvider))
        binds.append(columns.map(\.isDigest))
        binds.append(columns.map(\.retractOn?.event))
        binds.append(columns.map { $0.retractOn.map { Self.json($0.by) } })
        binds.append(columns.map { $0.retractOn?.user.map(Self.json) })
        binds.append(columns.map(\.retractOn?.within.seconds))
        binds.append(columns.map(\.permissions))
        binds.append(columns.map(\.presents))
        binds.append(columns.map(\.conversion?.eventType))
        binds.append(columns.map { $0.conversion.map { Self.json($0.userPath) } })
        binds.append(columns.map { $0.conversion?.valuePath.map(Self.json) })
        binds.append(columns.map(\.conversion?.within.seconds))
        binds.append(columns.map { if case .sql? = $0.conversion?.source { true } else { false } })
    }

    private static func json(_ path: [String]) -> String {
        JSONValue.array(path.map(JSONValue.string)).text
    }
}

extension SQL {
    /// Marks versions as refused; the last active one of each rule stays in force.
    ///
    /// Binds: versions, reasons.
    package static let refuseRules = Statement<Void, [Int32], [String]>(
        "refuse_rules",
        """
        UPDATE fanfare.rule_versions AS v SET state = 'refused', reason = left(b.reason, 2000), checked_at = clock_timestamp()
        FROM unnest($1::int[], $2::text[]) AS b (id, reason)
        WHERE v.id = b.id AND v.state = 'unchecked'
        """
    )
}

/// PostgreSQL's result for a jsonpath.
package struct ProbedPath {
    /// Why a rule cannot have it; nil if it can.
    package let problem: (reason: String, hint: String)?
    /// Whether ``RulePath/elements`` can follow it.
    package let hasElements: Bool
}

extension SQL {
    /// Lets PostgreSQL check jsonpaths, in their order.
    ///
    /// Binds: paths, which of them are predicates, ``RulePath/elements``.
    package static let probePaths = Statement<ProbedPath, [String], [Bool], String>(
        "probe_paths",
        """
        SELECT f.reason, f.hint, e.reason IS NULL
        FROM unnest($1::text[], $2::boolean[]) WITH ORDINALITY AS p (path, is_predicate, position)
        CROSS JOIN LATERAL fanfare.path_error(p.path, p.is_predicate) AS f
        CROSS JOIN LATERAL fanfare.path_error(CASE WHEN NOT p.is_predicate THEN p.path || $3::text END, false) AS e
        ORDER BY p.position
        """
    ) { row throws(PostgresError) in
        let reason = try row.string(orNil: 0)
        let hint = try row.string(orNil: 1)
        return ProbedPath(problem: reason.map { ($0, hint ?? "") }, hasElements: try row.bool(2))
    }
}
