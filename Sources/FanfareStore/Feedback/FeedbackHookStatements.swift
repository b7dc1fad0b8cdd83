package import FanfareCore
package import PostgresClient

/// A hook's position in the numbered batches.
package struct FeedbackPlace: Equatable, PostgresBind {
    /// The position after all deliveries of a batch, however many it has.
    package static let wholeBatch = Int16.max

    /// The number of a batch that may be partly delivered; all batches before it are delivered.
    package let number: Int64
    /// How many deliveries of that batch are delivered.
    package let position: Int16

    package init(number: Int64, position: Int16 = Self.wholeBatch) {
        (self.number, self.position) = (number, position)
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(number)
        binds.append(position)
    }
}

/// The stored state of a hook.
package struct FeedbackHookRow: Equatable {
    package let name: String
    package let codes: [Int16]
    package let app: String?
    /// The position delivered so far.
    package let place: FeedbackPlace
    /// The end of the delivery in progress; nil if there is none.
    package let until: FeedbackPlace?
    /// The prefix of delivery ids.
    package let key: String
    package let delivery: Int64
    package let owner: Int32?
    /// Whether no live daemon owns the hook.
    package let isFree: Bool
    package let failures: Int32
    /// The time until the next try, in microseconds; 0 or less if it is due.
    package let waits: Microseconds
    /// Whether the hook answered 410.
    package let hasEnded: Bool
    /// Whether no daemon recorded the hook as configured in the last minute.
    package let isUnseen: Bool
    /// Whether there are batches after its position.
    package let hasMore: Bool
}

extension SQL {
    /// Reads the stored hooks among some names.
    ///
    /// OFFSET 0 makes PostgreSQL look up the row at a hook's position. Otherwise it may read all feedback and hash its
    /// numbers.
    ///
    /// Binds: names.
    package static let feedbackHooks = Statement<FeedbackHookRow, [String]>(
        "feedback_hooks",
        """
        SELECT h.name, x.codes, x.app, h.number, h.position, h.until_number, h.until_position, h.key::text, h.delivery, h.owner,
            h.owner IS NULL OR NOT EXISTS (
                SELECT FROM fanfare.instances AS i WHERE i.id = h.owner AND i.lease_until > clock_timestamp()),
            h.failures,
            CASE WHEN isfinite(h.retry_at) THEN (extract(epoch FROM h.retry_at - clock_timestamp()) * 1000000)::bigint ELSE 0 END,
            h.ended_at IS NOT NULL, h.seen_at < clock_timestamp() - interval '1 minute',
            EXISTS (SELECT FROM fanfare.feedback AS f WHERE f.number > h.number)
                OR h.position < \(FeedbackPlace.wholeBatch) AND EXISTS (SELECT FROM fanfare.feedback AS f WHERE f.number = h.number OFFSET 0)
        FROM fanfare.feedback_cursors AS h JOIN fanfare.feedback_hooks AS x ON x.name = h.name WHERE h.name = ANY ($1)
        """
    ) { row throws(PostgresError) in
        var until: FeedbackPlace?
        if let number = try row.int64(orNil: 5) { until = FeedbackPlace(number: number, position: try row.int16(6)) }
        return FeedbackHookRow(
            name: try row.string(0),
            codes: try row.read(1) ?? [],
            app: try row.string(orNil: 2),
            place: FeedbackPlace(number: try row.int64(3), position: try row.int16(4)),
            until: until,
            key: try row.string(7),
            delivery: try row.int64(8),
            owner: try row.int32(orNil: 9),
            isFree: try row.bool(10),
            failures: try row.int32(11),
            waits: try row.int64(12),
            hasEnded: try row.bool(13),
            isUnseen: try row.bool(14),
            hasMore: try row.bool(15)
        )
    }

    /// Stores a hook's configuration, and that a daemon has it configured.
    ///
    /// A new hook begins with the batches that are numbered from now on.
    ///
    /// Binds: hook, codes, app.
    package static let putFeedbackHook = Statement<Void, String, [Int16], String?>(
        "put_feedback_hook",
        """
        WITH changed AS (
            SELECT FROM fanfare.feedback_hooks WHERE name = $1 AND (codes, app) IS DISTINCT FROM ($2, $3)
        ),
        wanted AS (
            INSERT INTO fanfare.feedback_hooks AS x (name, codes, app) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET codes = excluded.codes, app = excluded.app
                WHERE (x.codes, x.app) IS DISTINCT FROM (excluded.codes, excluded.app)
        )
        INSERT INTO fanfare.feedback_cursors AS h (name, number, position)
        VALUES ($1, coalesce((SELECT max(f.number) FROM fanfare.feedback AS f), 0), \(FeedbackPlace.wholeBatch))
        ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp(),
            -- What is under way would be another thing by the same id.
            delivery = h.delivery + CASE WHEN EXISTS (SELECT FROM changed) THEN 1 ELSE 0 END,
            until_number = CASE WHEN NOT EXISTS (SELECT FROM changed) THEN h.until_number END,
            until_position = CASE WHEN NOT EXISTS (SELECT FROM changed) THEN h.until_position END
        """
    )

    /// Makes this daemon the hook's owner, unless a live daemon owns it; changes no row otherwise.
    ///
    /// Binds: hook, owner.
    package static let takeFeedbackHook = Statement<Void, String, Int32>(
        "take_feedback_hook",
        """
        UPDATE fanfare.feedback_cursors AS h SET owner = $2
        WHERE h.name = $1 AND (h.owner IS NULL OR NOT EXISTS (
            SELECT FROM fanfare.instances AS i WHERE i.id = h.owner AND i.lease_until > clock_timestamp()))
        """
    )

    /// Releases this daemon's hooks except some, so that another daemon may take them at once.
    ///
    /// Binds: owner, keeping.
    package static let releaseFeedbackHooks = Statement<Void, Int32, [String]>(
        "release_feedback_hooks",
        """
        UPDATE fanfare.feedback_cursors SET owner = NULL WHERE owner = $1 AND name <> ALL ($2)
        """
    )

    /// Deletes some old feedback rows, and hooks that no daemon has had configured for as long.
    ///
    /// Binds: retentionDays.
    package static let forgetFeedback = Statement<Void, Int32>(
        "forget_feedback",
        """
        WITH unknown AS (
            DELETE FROM fanfare.feedback_cursors WHERE seen_at < statement_timestamp() - $1 * interval '1 day' RETURNING name
        ),
        unwanted AS (
            DELETE FROM fanfare.feedback_hooks WHERE name IN (SELECT name FROM unknown)
        ),
        picked AS MATERIALIZED (
            SELECT ctid, number FROM fanfare.feedback WHERE closed_at < statement_timestamp() - $1 * interval '1 day'
            LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED
        ),
        lost AS (
            UPDATE fanfare.feedback_cursors AS h SET lost = h.lost + f.batches
            FROM (
                SELECT x.name, count(*) AS batches FROM fanfare.feedback_cursors AS x
                JOIN picked AS y ON y.number >= x.number + (x.position = \(FeedbackPlace.wholeBatch))::int
                GROUP BY x.name
            ) AS f
            WHERE h.name = f.name
        )
        DELETE FROM fanfare.feedback WHERE ctid = ANY (ARRAY(SELECT ctid FROM picked))
        """
    )
}
