package import PostgresClient

extension SQL {
    /// Plans the first slice of events for topics, many at once: most topics end in it.
    ///
    /// A topic with more subscriptions than the slice gets a row in `plans` and continues there. The count and the cursor
    /// are those of the scanned subscriptions, before any filter: if the filters applied first, one disabled device would
    /// end the scan early, and the rest of the topic would be lost.
    ///
    /// Binds: eventIDs, ruleVersions, topics, the slice's size, batchSize.
    package static let planTopics = Statement<PlannedCounts, [Int64], [Int32], [String], Int32, Int32>(
        "plan_topics",
        """
        WITH
        wanted AS MATERIALIZED (
            SELECT w.event_id, w.rule_version, v.app_id, v.lane, v.kind, v.provider, v.devices_path, v.permissions, v.presents, v.gate_id,
                t.id AS topic_id, \(QueueSQL.batchSize("$5::int", gate: "v.gate_id")) AS batch_size
            FROM unnest($1::bigint[], $2::int[], $3::text[]) AS w (event_id, rule_version, topic)
            JOIN fanfare.rule_versions AS v ON v.id = w.rule_version
            JOIN fanfare.topics AS t ON t.name = w.topic
        ),
        scanned AS MATERIALIZED (
            SELECT w.*, s.device_id
            FROM wanted AS w
            CROSS JOIN LATERAL (
                SELECT x.device_id FROM fanfare.subscriptions AS x
                WHERE x.topic_id = w.topic_id ORDER BY x.device_id LIMIT $4::int
            ) AS s
        ),
        unfinished AS (
            INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, cursor, last_device, gate_id)
            SELECT event_id, rule_version, app_id, lane,
                jsonb_build_array(jsonb_build_object('all', jsonb_build_array(topic_id), 'none', '[]'::jsonb)),
                max(device_id), (SELECT max(id) FROM fanfare.devices), gate_id
            FROM scanned
            GROUP BY event_id, rule_version, app_id, lane, topic_id, gate_id
            HAVING count(*) = $4::int
            RETURNING 1
        ),
        deliveries AS MATERIALIZED (
            SELECT s.rule_version, s.lane, s.event_id, d.target_id, s.device_id, s.gate_id, s.batch_size
            FROM scanned AS s
            CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = s.device_id OFFSET 0) AS d
            WHERE d.disabled_at IS NULL AND d.app_id = s.app_id AND d.kind = s.kind
                AND (s.provider IS NULL OR d.provider = s.provider)
                AND (s.devices_path IS NULL
                    OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), s.devices_path, '{}', true))
                AND \(PermissionSQL.passes("s"))
        ),
        \(queueDeliveriesSQL(batchSize: "batch_size"))
        SELECT (SELECT count(*)::int FROM queued), (SELECT count(*)::int FROM unfinished)
        """,
        row: { (batches: Int32, plans: Int32) in PlannedCounts(batches: Int(batches), plans: Int(plans)) }
    )
}

/// What a planning statement left to other stages.
package struct PlannedCounts {
    package var batches = 0
    package var plans = 0
    /// The events whose rule's query must be run.
    package var queries = 0

    package init(batches: Int = 0, plans: Int = 0, queries: Int = 0) {
        self.batches = batches
        self.plans = plans
        self.queries = queries
    }
}

extension SQL {
    /// Plans events for tokens in the payload, after ``SQL/registerTokens`` has registered them.
    ///
    /// Binds: eventIDs, ruleVersions, deviceIDs, batchSize, the only user whose devices are planned (nil for all).
    package static let planDevices = Statement<PlannedCounts, [Int64], [Int32], [Int64], Int32, String?>(
        "plan_devices",
        """
        WITH
        deliveries AS MATERIALIZED (
            SELECT DISTINCT w.rule_version, v.lane, w.event_id, d.target_id, w.device_id,
                \(gateSQL(of: "v", event: "w.event_id")) AS gate_id
            FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS w (event_id, rule_version, device_id)
            JOIN fanfare.rule_versions AS v ON v.id = w.rule_version
            JOIN fanfare.devices AS d ON d.id = w.device_id
            WHERE d.disabled_at IS NULL AND ($5::text IS NULL OR d.user_id = $5)
                AND (v.devices_path IS NULL
                    OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
                AND \(PermissionSQL.passes("v"))
        ),
        \(queueDeliveriesSQL(batchSize: "$4::int"))
        SELECT count(*)::int FROM queued
        """,
        row: { (batches: Int32) in PlannedCounts(batches: Int(batches)) }
    )

    /// Finds the devices that hold the tokens at a rule's path in a payload, and registers unknown ones.
    ///
    /// The result is nil for a malformed token, and for an unregistered one of a provider whose devices have secrets (Web
    /// Push, webhooks): such tokens are errors of the event, and must not stop its other tokens.
    ///
    /// Binds: ruleVersion, ``DeferredMatch/event``.
    package static let registerTokens = Statement<Int64?, Int32, String>(
        "register_tokens",
        """
        SELECT CASE
            WHEN NOT fanfare.is_token(v.provider, t.token) THEN NULL
            WHEN held.id IS NOT NULL THEN held.id
            WHEN p.auth_shape IS NOT NULL THEN NULL
            ELSE fanfare.register_device(a.name, v.provider, t.token)
        END
        FROM fanfare.rule_versions AS v
        JOIN fanfare.apps AS a ON a.id = v.app_id
        JOIN fanfare.providers AS p ON p.name = v.provider
        CROSS JOIN LATERAL (
            SELECT DISTINCT CASE WHEN p.folds_case THEN lower(item #>> '{}') ELSE item #>> '{}' END AS token
            FROM jsonb_path_query_tz($2::jsonb -> 'payload', v.audience_path, '{}', true) AS item
            WHERE jsonb_typeof(item) = 'string'
        ) AS t
        LEFT JOIN LATERAL (SELECT fanfare.device_id(a.name, v.provider, t.token) AS id) AS held ON true
        WHERE v.id = $1
        """
    )
}
