internal import FanfareCore
package import PostgresClient

/// A rule version whose pushes of an event may have been accepted, and are taken back.
package struct RetractionMatch {
    package let retraction: Int64
    package let eventID: Int64
    package let eventType: String
    package let eventKey: String?
    /// The event's time, in seconds since 1970.
    package let eventTime: Int64
    package let payload: String
    package let replayOf: Int64?
    package let ruleVersion: Int32
}

/// The limits of taking back.
package enum Retracting {
    /// How many retractions are worked on together.
    static let limit = 100
    /// How many logged batches of each are read together.
    static let batches = 20
    /// How many identifiers a device is told at most.
    static let ids = 50
    /// How many devices get their silent push together.
    package static let devices = 20_000
    /// The shortest time between two silent pushes to a device, in minutes.
    static let minutes = 5
    /// How many bytes the identifiers of a silent push have at most, so that it fits into the 4 KiB of APNs and FCM.
    static let bytes = 3400
    /// How many events of a value are taken back together, the newest.
    static let events = 50
}

extension SQL {
    /// Locks some due retractions, and returns those whose event is planned and not being sent.
    ///
    /// The others are looked at again soon: a delivery in flight may be accepted yet. Batches that no daemon owns need not
    /// be waited for, because a claim reads retractions. A batch with outcomes was given back by a daemon that died.
    ///
    /// Binds: now.
    package static let lockRetractions = Statement<Int64, Timestamp>(
        "lock_retractions",
        """
        WITH due AS MATERIALIZED (
            SELECT r.id, r.event_id, r.user_id, r.created_at FROM fanfare.retractions AS r
            WHERE r.due_at <= $1::timestamptz ORDER BY r.due_at LIMIT \(Retracting.limit) FOR UPDATE SKIP LOCKED
        ),
        begun AS MATERIALIZED (
            SELECT b.event_id, b.event_ids, b.device_ids FROM fanfare.batches AS b
            WHERE (b.owner IS NOT NULL OR octet_length(b.outcomes) > 0) AND EXISTS (SELECT FROM due)
        ),
        shared AS MATERIALIZED (
            SELECT DISTINCT e.id FROM begun AS b CROSS JOIN LATERAL unnest(b.event_ids) AS e (id)
        ),
        judged AS MATERIALIZED (
            SELECT d.id, d.created_at,
                d.event_id IN (SELECT s.id FROM shared AS s)
                OR EXISTS (
                    SELECT FROM begun AS b WHERE b.event_id = d.event_id AND (d.user_id IS NULL OR EXISTS (
                        SELECT FROM fanfare.devices AS x
                        WHERE x.app_id = ANY (ARRAY(SELECT a.id FROM fanfare.apps AS a)) AND x.user_id = d.user_id AND x.id = ANY (b.device_ids))))
                OR CASE
                    WHEN EXISTS (SELECT FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(d.event_id) AND l.id = d.event_id) THEN false
                    ELSE EXISTS (SELECT FROM fanfare.outbox AS o WHERE o.id = d.event_id)
                        OR EXISTS (SELECT FROM fanfare.quarantine AS o WHERE o.id = d.event_id)
                END AS waits
            FROM due AS d
        ),
        postponed AS (
            UPDATE fanfare.retractions AS r SET due_at = \(retrySQL(since: "j.created_at"))
            FROM judged AS j WHERE r.id = j.id AND j.waits
        )
        SELECT j.id FROM judged AS j WHERE NOT j.waits
        """
    )

    /// Reads the rule versions that the next batches of retracted events were sent under, with all that renders their
    /// identifiers.
    ///
    /// Binds: retractions.
    package static let retractionMatches = Statement<RetractionMatch, [Int64]>(
        "retraction_matches",
        """
        SELECT r.id, e.id, e.type, e.key, extract(epoch FROM e.created_at)::bigint, e.payload::text, e.replay_of, v.id
        FROM fanfare.retractions AS r
        CROSS JOIN LATERAL (
            SELECT * FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(r.event_id) AND l.id = r.event_id OFFSET 0
        ) AS e
        CROSS JOIN LATERAL (
            SELECT DISTINCT b.rule_version
            FROM fanfare.accepted_devices(r.event_id, \(devicesSQL(of: "r")), r.cursor, \(Retracting.batches)) AS b
        ) AS s
        JOIN fanfare.rule_versions AS v ON v.id = s.rule_version
        WHERE r.id = ANY ($1::bigint[]) AND v.kind = '\(DeviceKind.device.rawValue)' AND v.native_target_id IS NULL
            AND v.definition ->> 'collapse' IS NOT NULL AND (r.rule_id IS NULL OR v.rule_id = r.rule_id)
        """,
        row: RetractionMatch.init
    )

    /// Notes identifiers with the devices that accepted the next batches of retracted events, and moves on; returns how
    /// many devices.
    ///
    /// A device has the newest identifiers, each once with the newest time. A browser or webhook gets no silent push. Rows
    /// are written in the order of devices, so that two daemons do not deadlock.
    ///
    /// Binds: all retractions; for each rule version: the retraction, the version, the identifier, its hash for browsers;
    /// now.
    package static let noteRetracted = Statement<Int64, [Int64], [Int64], [Int32], [String], [String], Timestamp>(
        "note_retracted",
        """
        WITH work AS MATERIALIZED (
            SELECT r.id, r.event_id, r.user_id, r.created_at, r.cursor, \(devicesSQL(of: "r")) AS devices
            FROM fanfare.retractions AS r WHERE r.id = ANY ($1::bigint[])
        ),
        read AS MATERIALIZED (
            SELECT w.id AS retraction, ceil(extract(epoch FROM w.created_at))::bigint AS at, b.* FROM work AS w
            CROSS JOIN LATERAL fanfare.accepted_devices(w.event_id, w.devices, w.cursor, \(Retracting.batches)) AS b
        ),
        known AS MATERIALIZED (
            SELECT u.retraction, u.version, u.id, u.topic, fanfare.retraction_rule(u.version) AS retract_version
            FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[]) AS u (retraction, version, id, topic)
        ),
        accepted AS MATERIALIZED (
            SELECT d.device_id, t.provider IN ('apns', 'fcm') AS is_told, CASE WHEN t.provider = 'webpush' THEN k.topic ELSE k.id END AS id,
                max(b.at) AS at, max(k.retract_version) AS version
            FROM read AS b
            JOIN known AS k ON k.retraction = b.retraction AND k.version = b.rule_version
            JOIN fanfare.targets AS t ON t.id = b.target_id
            CROSS JOIN LATERAL unnest(b.device_ids) AS d (device_id)
            GROUP BY 1, 2, 3
        ),
        fresh AS MATERIALIZED (
            SELECT a.device_id, a.is_told, (array_agg(a.id ORDER BY a.at DESC, a.id))[:\(Retracting.ids)] AS ids,
                (array_agg(a.at ORDER BY a.at DESC, a.id))[:\(Retracting.ids)] AS times, max(a.version) AS version
            FROM accepted AS a GROUP BY 1, 2
        ),
        stored AS (
            INSERT INTO fanfare.retracted_devices AS x (device_id, ids, times, pending, rule_version, due_at)
            SELECT f.device_id, f.ids, f.times, CASE WHEN f.is_told THEN cardinality(f.ids) ELSE 0 END, f.version, CASE WHEN f.is_told THEN $6::timestamptz END
            FROM fresh AS f ORDER BY f.device_id
            ON CONFLICT (device_id) DO UPDATE
            SET (ids, times, pending) = (
                    SELECT (array_agg(o.id ORDER BY o.n))[:\(Retracting.ids)], (array_agg(o.at ORDER BY o.n))[:\(Retracting.ids)],
                        least(\(Retracting.ids), count(*) FILTER (WHERE o.is_pending))
                    FROM (
                        SELECT u.id, u.at, u.n, excluded.pending > 0 AS is_pending
                        FROM unnest(excluded.ids, excluded.times) WITH ORDINALITY AS u (id, at, n)
                        UNION ALL
                        SELECT u.id, u.at, u.n + \(Retracting.ids), u.n <= x.pending
                        FROM unnest(x.ids, x.times) WITH ORDINALITY AS u (id, at, n) WHERE u.id <> ALL (excluded.ids)
                    ) AS o),
                rule_version = excluded.rule_version, changed_at = clock_timestamp(),
                due_at = CASE WHEN excluded.due_at IS NOT NULL THEN greatest(excluded.due_at, x.sent_at + interval '\(Retracting.minutes) minutes') END
        ),
        done AS (
            UPDATE fanfare.retractions AS r SET cursor = greatest(r.cursor, b.last), devices = r.devices + coalesce(b.devices, 0),
                due_at = CASE WHEN b.batches = \(Retracting.batches) AND r.user_id IS NULL THEN $6 END
            FROM work AS w
            CROSS JOIN LATERAL (
                SELECT max(e.batch_id) AS last, count(*) AS batches,
                    sum(cardinality(e.device_ids)) FILTER (WHERE EXISTS (
                        SELECT FROM known AS k WHERE k.retraction = e.retraction AND k.version = e.rule_version)) AS devices
                FROM read AS e WHERE e.retraction = w.id
            ) AS b
            WHERE r.id = w.id
        )
        SELECT count(*) FROM fresh
        """
    )

    /// Queues the silent pushes that are due for some devices, one for each; returns how many.
    ///
    /// Devices with the same list share an event. The event is logged as planned: it never waits in the outbox, since no
    /// rule has to match it.
    ///
    /// Binds: now, the most deliveries of a batch.
    package static let sendRetractions = Statement<Int64, Timestamp, Int32>(
        "send_retractions",
        """
        WITH due AS MATERIALIZED (
            SELECT x.device_id, x.rule_version, x.ids[:x.pending] AS ids, x.times[:x.pending] AS times
            FROM fanfare.retracted_devices AS x WHERE x.due_at <= $1::timestamptz
            ORDER BY x.due_at LIMIT \(Retracting.devices) FOR UPDATE SKIP LOCKED
        ),
        sent AS (
            UPDATE fanfare.retracted_devices AS x SET pending = 0, due_at = NULL, sent_at = $1
            WHERE x.device_id = ANY (ARRAY(SELECT d.device_id FROM due AS d))
        ),
        lists AS MATERIALIZED (
            SELECT fanfare.new_event_id() AS id, l.rule_version, l.ids, l.times, l.devices FROM (
                SELECT d.rule_version, d.ids, d.times, array_agg(d.device_id) AS devices FROM due AS d
                GROUP BY d.rule_version, d.ids, d.times OFFSET 0
            ) AS l
        ),
        logged AS (
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type, payload)
            SELECT fanfare.ring_day(l.id), \(EventFate.planned.rawValue), l.id, statement_timestamp(), v.event_type, jsonb_build_object('retracted', (
                SELECT jsonb_object_agg(f.id, f.at) FROM (
                    SELECT u.id, u.at, sum(octet_length(to_json(u.id)::text) + 16) OVER (ORDER BY u.n) AS bytes
                    FROM unnest(l.ids, l.times) WITH ORDINALITY AS u (id, at, n)
                ) AS f WHERE f.bytes <= \(Retracting.bytes)))
            FROM lists AS l JOIN fanfare.rule_versions AS v ON v.id = l.rule_version
        ),
        deliveries AS MATERIALIZED (
            SELECT l.rule_version, \(Lane.bulk.rawValue)::smallint AS lane, x.target_id, l.id AS event_id, d.id AS device_id, 0 AS gate_id
            FROM lists AS l CROSS JOIN LATERAL unnest(l.devices) AS d (id)
            CROSS JOIN LATERAL (SELECT t.target_id FROM fanfare.devices AS t WHERE t.id = d.id OFFSET 0) AS x
        ),
        \(queueDeliveriesSQL(batchSize: "$2::int"))
        SELECT count(*) FROM due
        """
    )

    /// Reads when the next retraction, silent push or event of a `retract_on` type is due; no row if there is none.
    package static let nextRetraction = Statement<Timestamp>(
        "next_retraction",
        """
        SELECT n.due_at FROM (
            (SELECT r.due_at FROM fanfare.retractions AS r WHERE r.due_at IS NOT NULL ORDER BY r.due_at LIMIT 1)
            UNION ALL
            (SELECT x.due_at FROM fanfare.retracted_devices AS x WHERE x.due_at IS NOT NULL ORDER BY x.due_at LIMIT 1)
            UNION ALL
            (SELECT v.due_at FROM fanfare.value_retractions AS v ORDER BY v.due_at LIMIT 1)
        ) AS n ORDER BY n.due_at LIMIT 1
        """
    )

    /// Returns SQL for the next look at something that waits for other work: the longer it waits, the later.
    static func retrySQL(since time: String) -> String {
        "$1 + least(interval '5 seconds', interval '200 milliseconds' + greatest($1 - \(time), interval '0') / 4)"
    }

    /// Returns SQL for the devices of a retraction's user; NULL if it is for all.
    private static func devicesSQL(of retraction: String) -> String {
        """
        CASE WHEN \(retraction).user_id IS NOT NULL THEN ARRAY(
            SELECT d.id FROM fanfare.devices AS d
            WHERE d.app_id = ANY (ARRAY(SELECT a.id FROM fanfare.apps AS a)) AND d.user_id = \(retraction).user_id
            ORDER BY d.id DESC LIMIT 200) END
        """
    }
}
