package import FanfareCore

/// The audience of a rule for one event, as a condition on `fanfare.devices AS d`.
///
/// It matches what planning does, but is read-only and creates no batches.
///
/// Binds `$1` app, `$2` kind, `$3` provider, `$4` the filter on attributes, `$5` the payload, then its own, then those of the
/// filters on permission and presentations.
package struct AudienceQuery {
    /// Whether a device is in the audience, before any filter.
    package let condition: String
    /// The values of the statements' parameters.
    package let binds: [String?]
    /// Whether a device passes the filters on permission and presentations; nil without such filters.
    private let permits: String?
    /// The CTE before counting statements with the users that a campaign's query returns, as `named`; empty for other
    /// audiences.
    let prologue: String
    /// Whether the statements have the CTE `named`.
    var isOfQuery: Bool { !prologue.isEmpty }

    /// Creates the query for a rule and an event; nil for an audience that a provider manages, and for a query's
    /// audience without its SQL.
    ///
    /// - Parameters:
    ///   - definition: the rule.
    ///   - plan: its audience, compiled.
    ///   - path: the path of its users or tokens in the payload, as planning uses it; nil for other audiences.
    ///   - users: the result of its query (``UsersBySQL/array``); nil for other audiences.
    ///   - campaignSQL: the campaign's `audience_sql`, if the session has the right to run it.
    ///   - context: the event.
    /// - Throws: `RenderProblem` if the event renders no topic.
    package init?(
        _ definition: RuleDefinition,
        _ plan: AudiencePlan,
        path: String?,
        users: String?,
        campaignSQL: String? = nil,
        _ context: RenderContext
    ) throws(RenderProblem) {
        let audience = definition.audience
        // A token in the payload is reached even if it is of another kind than the audience asks for.
        var kind: String? = audience.kind.rawValue
        var own: [String] = []
        switch plan {
        case .users:
            own = [path ?? ""]
            condition = "d.user_id IN (\(NamedUsers.query(path: "$6")))"
        case .usersSQL:
            own = [users ?? "{}"]
            condition = "d.user_id = ANY ($6::text[])"
        case .tokens:
            own = [path ?? ""]
            kind = nil
            condition = """
                d.token_hash IN (
                    SELECT sha256(convert_to(CASE WHEN p.folds_case THEN lower(item #>> '{}') ELSE item #>> '{}' END, 'UTF8'))
                    FROM fanfare.providers AS p
                    CROSS JOIN jsonb_path_query_tz($5::jsonb, $6::jsonpath, '{}', true) AS item
                    WHERE p.name = $3 AND jsonb_typeof(item) = 'string')
                """
        case .topic:
            own = [try plan.topicName(context) ?? ""]
            condition = Self.subscription("$6")
        case .condition(let topics):
            (condition, own) = Self.clauses(try topics.clauses(context))
        case .everyone: condition = "true"
        case .staged:
            guard let campaignSQL else { return nil }
            own = [campaignSQL]
            condition = "d.user_id IN (SELECT n.user_id FROM named AS n)"
        case .native: return nil
        }
        prologue =
            campaignSQL == nil || own.isEmpty
            ? "" : "WITH named AS MATERIALIZED (SELECT a.user_id, a.variables FROM fanfare.audience($6, '') AS a) "
        let payload = JSONValue.object(context.payload).text
        let filters = [audience.provider?.rawValue, audience.devices]
        let permissions = [
            (audience.permissions?.map(\.rawValue), "coalesce(d.permission, 'unknown') = ANY (%)"),
            (audience.presents?.map(\.rawValue), "coalesce(d.presents, '{}') @> %"),
        ]
        let given = permissions.compactMap { words, condition in words.map { ($0, condition) } }
        permits =
            given.isEmpty
            ? nil
            : given.enumerated().map { $1.1.replacing("%", with: "$\(6 + own.count + $0)::text[]") }
                .joined(separator: " AND ")
        binds =
            [definition.app, kind] + filters + [payload] + own + given.map { "{\($0.0.joined(separator: ","))}" }
    }

    private static func subscription(_ topic: String) -> String {
        """
        EXISTS (SELECT FROM fanfare.subscriptions AS s
            WHERE s.device_id = d.id AND s.topic_id = (SELECT t.id FROM fanfare.topics AS t WHERE t.name = \(topic)))
        """
    }

    private static func clauses(_ clauses: [TopicClause]) -> (condition: String, topics: [String]) {
        var topics: [String] = []
        func parameter(_ topic: String) -> String {
            topics.append(topic)
            return subscription("$\(5 + topics.count)")
        }
        let alternatives = clauses.map { clause in
            (clause.positive.map { parameter($0) } + clause.negative.map { "NOT \(parameter($0))" })
                .joined(separator: " AND ")
        }
        // Names rendered from the payload can make a condition unsatisfiable.
        guard !alternatives.isEmpty else { return ("false", []) }
        return (alternatives.map { "(\($0))" }.joined(separator: " OR "), topics)
    }

    /// Whether a device's attributes pass the rule's filter.
    private static let fits = """
        ($4::jsonpath IS NULL OR coalesce(jsonb_path_match_tz(coalesce(d.attributes, '{}'), $4::jsonpath, '{}', true), false))
        """

    /// The FROM clause of the audience's devices `d`, disabled ones included.
    ///
    /// With a join to `apps`, the planner would expect a thousandth of the devices, and sort where it can hash.
    var source: String {
        """
        FROM fanfare.devices AS d
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND ($2::text IS NULL OR d.kind = $2) AND ($3::text IS NULL OR d.provider = $3)
            AND $5::jsonb IS NOT NULL AND d.disabled_reason IS DISTINCT FROM 'reassigned' AND \(Self.fits)\(permits.map { " AND \($0)" } ?? "")
            AND (\(condition))
        """
    }

    /// A query for the number of users reached.
    ///
    /// It counts distinct 64-bit hashes, because sorting a million ids takes seconds.
    var usersSQL: String {
        "SELECT count(DISTINCT hashtextextended(d.user_id, 0)) \(source) AND d.disabled_at IS NULL"
    }

    /// A query that counts devices by provider; the row without a provider counts all, and their users.
    package var countSQL: String {
        """
        SELECT d.provider, count(*) FILTER (WHERE d.disabled_at IS NULL),
            CASE WHEN grouping(d.provider) = 1 THEN (\(usersSQL)) END, count(*) FILTER (WHERE d.disabled_at IS NOT NULL)
        \(source)
        GROUP BY GROUPING SETS ((d.provider), ()) ORDER BY d.provider NULLS LAST
        """
    }

    /// A query for all of one user's devices, with the reason that excludes each.
    package var userSQL: String {
        """
        SELECT d.id, d.provider, d.environment, d.kind, d.disabled_at, d.disabled_reason,
            $2::text IS NULL OR d.kind = $2, $3::text IS NULL OR d.provider = $3, \(Self.fits), \(condition),
            array_to_string(ARRAY(
                SELECT t.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id
                WHERE s.device_id = d.id ORDER BY t.name LIMIT 20), ', '), \(permits ?? "true"), coalesce(d.permission, 'unknown'),
            CASE WHEN d.presents = '{}' THEN 'nothing' ELSE array_to_string(d.presents, ', ') END
        FROM (
            SELECT x.id, x.provider, t.environment, x.kind, x.user_id, x.attributes, x.token_hash, x.disabled_at, x.disabled_reason,
                x.permission, x.presents
            FROM fanfare.devices AS x JOIN fanfare.targets AS t ON t.id = x.target_id
            WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND x.user_id = $\(binds.count + 1)
        ) AS d
        WHERE $5::jsonb IS NOT NULL AND d.disabled_reason IS DISTINCT FROM 'reassigned'
        ORDER BY d.id
        """
    }
}

/// The SQL for the users that a payload names.
enum NamedUsers {
    /// Returns a query for their ids, in `$5` at a path.
    static func query(path: String) -> String {
        """
        SELECT item #>> '{}' FROM jsonb_path_query_tz($5::jsonb, \(path)::jsonpath, '{}', true) AS item
        WHERE jsonb_typeof(item) IN ('string', 'number', 'boolean')
        """
    }
}
