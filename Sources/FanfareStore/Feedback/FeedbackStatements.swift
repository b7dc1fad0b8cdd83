package import FanfareCore
package import PostgresClient

extension SQL {
    /// Numbers the feedback rows that have none yet; does nothing while another transaction does so.
    ///
    /// With two at once, larger numbers could become visible before smaller ones.
    package static let numberFeedback = Statement<Void>(
        "number_feedback",
        """
        WITH mine AS MATERIALIZED (
            SELECT pg_try_advisory_xact_lock(\(AdvisoryLock.family), \(AdvisoryLock.feedback)) AS ok
        )
        UPDATE fanfare.feedback AS f SET number = n.number
        FROM (
            SELECT u.ctid AS place, nextval('fanfare.feedback_sequence') AS number
            FROM (SELECT ctid FROM fanfare.feedback WHERE number IS NULL ORDER BY closed_at, batch_id LIMIT 10000) AS u
        ) AS n
        -- Again, since who held the lock before may have numbered it after this statement's snapshot.
        WHERE f.ctid = n.place AND f.number IS NULL AND (SELECT ok FROM mine)
        """
    )
}

/// One outcome or report that is delivered to a hook.
package struct FeedbackItem: Equatable {
    package let place: FeedbackPlace
    package let at: Timestamp
    package let app: String
    package let provider: String
    package let environment: String
    /// The device; 0 if the provider manages the audience.
    package let deviceID: Int64
    package let userID: String?
    /// The token's hash in hexadecimal; nil for a deleted device.
    package let tokenHash: String?
    /// Whether the device is disabled for this reason, or was deleted since.
    package let isDisabled: Bool
    package let eventID: Int64
    package let eventType: String
    package let rule: String
    package let attempt: Int16
    package let outcome: String
    package let reason: String
    /// What a device reported, instead of an outcome: `opened` or `action`; nil for an outcome.
    package let report: String?
    /// The action that the user chose; nil for other items.
    package let action: String?
}

/// A row of ``SQL/readFeedback``.
package enum FeedbackRow: Equatable {
    /// The most batches read: as many as rows, since a single push is a batch of its own.
    ///
    /// With large batches, few are read before there are enough rows.
    package static let batches = 1_000
    /// The most rows; if there are as many, the last row's batch may have more.
    package static let limit = 1_000

    case item(FeedbackItem)
    /// The batch has nothing for the hook.
    case nothing(number: Int64)
    /// The batch is no longer in the log.
    case lost(number: Int64)
}

extension SQL {
    /// Reads the next outcomes for a hook: those of some batches that it wants, in order, and a row for each batch that has
    /// none.
    ///
    /// Binds: the place delivered so far, the number and position of the end (nil for as many rows as allowed), the wanted
    /// outcomes, the app (nil for all).
    package static let readFeedback = Statement<FeedbackRow, FeedbackPlace, Int64?, Int16?, [Int16], String?>(
        "read_feedback",
        """
        SELECT f.number, p.position::smallint, b.id IS NULL AND f.kind IS NULL, coalesce(b.closed_at, f.closed_at), a.name, t.provider, t.environment, p.device_id,
            d.user_id, encode(d.token_hash, 'hex'),
            CASE WHEN d.id IS NULL THEN p.device_id <> 0 ELSE d.disabled_at IS NOT NULL AND d.disabled_reason = p.reason END, p.event_id,
            v.event_type, r.name, coalesce(b.attempt, 1::smallint), p.outcome, p.reason, CASE f.kind WHEN 2 THEN 'opened' WHEN 3 THEN 'action' END, f.action
        FROM (
            SELECT * FROM fanfare.feedback
            -- One that was told whole is not looked at again: the log may have it no more.
            WHERE number >= $1 + ($2 = \(FeedbackPlace.wholeBatch))::int AND number <= coalesce($3, 9223372036854775807)
            ORDER BY number LIMIT \(FeedbackRow.batches)
        ) AS f
        LEFT JOIN fanfare.batch_log AS b ON b.day = fanfare.ring_day(f.batch_id) AND b.id = f.batch_id
        LEFT JOIN fanfare.rule_versions AS v ON v.id = coalesce(b.rule_version, f.rule_version)
        LEFT JOIN fanfare.rules AS r ON r.id = v.rule_id
        LEFT JOIN fanfare.devices AS y ON y.id = f.device_id
        LEFT JOIN fanfare.targets AS t ON t.id = coalesce(b.target_id, y.target_id)
        LEFT JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN LATERAL (
            SELECT q.position, b.device_ids[q.position] AS device_id, coalesce(b.event_id, b.event_ids[q.position]) AS event_id,
                coalesce(k.outcome, CASE WHEN q.code BETWEEN 64 AND 95 THEN 'gone' ELSE 'rejected' END) AS outcome,
                coalesce(k.reason, 'unknown') AS reason
            FROM (
                SELECT i AS position, get_byte(b.outcomes, i - 1) AS code FROM generate_subscripts(b.device_ids, 1) AS i
            ) AS q
            LEFT JOIN fanfare.outcome_codes AS k ON k.code = q.code
            WHERE q.code = ANY ($5) AND ($6::text IS NULL OR a.name = $6)
                AND (f.number > $1 OR q.position > $2) AND (f.number < $3 OR q.position <= $4) IS NOT FALSE
            UNION ALL
            SELECT 1, f.device_id, f.event_id, '', ''
            WHERE y.id IS NOT NULL AND 1000 + f.kind = ANY ($5) AND ($6::text IS NULL OR a.name = $6) AND (f.number > $1 OR 1 > $2)
        ) AS p ON true
        LEFT JOIN fanfare.devices AS d ON d.id = p.device_id
        ORDER BY f.number, p.position
        LIMIT \(FeedbackRow.limit)
        """
    ) { row throws(PostgresError) in
        let number = try row.int64(0)
        guard let position = try row.int16(orNil: 1) else {
            return try row.bool(2) ? .lost(number: number) : .nothing(number: number)
        }
        return .item(
            FeedbackItem(
                place: FeedbackPlace(number: number, position: position),
                at: try row.timestamp(3),
                app: try row.string(4),
                provider: try row.string(5),
                environment: try row.string(6),
                deviceID: try row.int64(7),
                userID: try row.string(orNil: 8),
                tokenHash: try row.string(orNil: 9),
                isDisabled: try row.bool(orNil: 10) ?? false,
                eventID: try row.int64(11),
                eventType: try row.string(orNil: 12) ?? "",
                rule: try row.string(13),
                attempt: try row.int16(14),
                outcome: try row.string(15),
                reason: try row.string(16),
                report: try row.string(orNil: 17),
                action: try row.string(orNil: 18)
            )
        )
    }

    /// Stores the end of a delivery before it is sent, if it is the hook's next and the caller owns the hook.
    ///
    /// Binds: delivery, end.
    package static let beginFeedback = Statement<Void, FeedbackDelivery, FeedbackPlace>(
        "begin_feedback",
        """
        UPDATE fanfare.feedback_cursors SET until_number = $4, until_position = $5
        WHERE name = $1 AND owner = $2 AND delivery = $3 AND until_number IS NULL
        """
    )
}

/// A delivery to a hook with the hook's owner: the fence through which responses are recorded.
package struct FeedbackDelivery: Equatable, PostgresBind {
    package let hook: String
    package let owner: Int32
    package let number: Int64

    package init(hook: String, owner: Int32, number: Int64) {
        (self.hook, self.owner, self.number) = (hook, owner, number)
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(hook)
        binds.append(owner)
        binds.append(number)
    }
}

extension SQL {
    /// Advances a hook past what was delivered, or past batches with nothing for it; returns how often the delivery had
    /// failed before.
    ///
    /// Binds: delivery, place, whether a delivery was sent and accepted, the batches passed that were no longer in the log.
    package static let advanceFeedback = Statement<Int32, FeedbackDelivery, FeedbackPlace, Bool, Int64>(
        "advance_feedback",
        """
        WITH before AS MATERIALIZED (SELECT failures, lost FROM fanfare.feedback_cursors WHERE name = $1 FOR UPDATE)
        UPDATE fanfare.feedback_cursors AS h SET number = $4, position = $5, until_number = NULL, until_position = NULL, lost = h.lost + $7,
            delivery = h.delivery + CASE WHEN $6 THEN 1 ELSE 0 END, told_at = CASE WHEN $6 THEN clock_timestamp() ELSE h.told_at END,
            failures = CASE WHEN $6 THEN 0 ELSE h.failures END, failing_since = CASE WHEN NOT $6 THEN h.failing_since END,
            error = CASE WHEN NOT $6 THEN h.error END, retry_at = CASE WHEN $6 THEN '-infinity' ELSE h.retry_at END
        FROM before AS b
        WHERE h.name = $1 AND h.owner = $2 AND h.delivery = $3
        RETURNING b.failures
        """
    )

    /// Records that a delivery failed; returns the number of consecutive failures.
    ///
    /// Binds: delivery, error, the wait before the next try, whether the hook wants no more deliveries.
    package static let failFeedback = Statement<Int32, FeedbackDelivery, String, Microseconds, Bool>(
        "fail_feedback",
        """
        UPDATE fanfare.feedback_cursors AS h SET failures = h.failures + 1, failing_since = coalesce(h.failing_since, clock_timestamp()),
            error = left($4, 2000), retry_at = clock_timestamp() + $5 * interval '1 microsecond',
            ended_at = CASE WHEN $6 THEN clock_timestamp() END
        WHERE h.name = $1 AND h.owner = $2 AND h.delivery = $3
        RETURNING h.failures
        """
    )

    /// Notifies the current listeners.
    ///
    /// Binds: channel, payloads.
    package static let notifyFeedback = Statement<Bool, String, [String]>(
        "notify_feedback",
        "SELECT pg_notify($1, p) IS NULL FROM unnest($2::text[]) AS p"
    )
}
