package import PostgresClient

extension SQL {
    /// Emits some of the scheduled events that are due, the oldest first, in its own transaction; returns how many.
    ///
    /// Concurrent calls skip each other's rows, and rows that a transaction is cancelling or moving. The time is that of
    /// the statement's start by the database's clock, which the index can use. An event is dated when it was due, so that
    /// its ttl runs from then.
    ///
    /// Binds: the most events.
    package static let emitScheduled = Statement<Int64, Int32>(
        "emit_scheduled",
        """
        WITH due AS (
            DELETE FROM fanfare.scheduled AS s
            WHERE s.id = ANY (ARRAY(
                SELECT x.id FROM fanfare.scheduled AS x WHERE x.at <= statement_timestamp()
                ORDER BY x.at LIMIT $1::int FOR UPDATE SKIP LOCKED))
            RETURNING s.*
        ),
        numbered AS MATERIALIZED (
            SELECT d.*, fanfare.new_event_id() AS event_id FROM (SELECT * FROM due ORDER BY at, id OFFSET 0) AS d
        ),
        emitted AS (
            INSERT INTO fanfare.outbox (id, created_at, type, key, ttl, payload, trace, own, wall)
            SELECT n.event_id, n.at, n.type, n.key, n.ttl, n.payload, n.trace, n.app_id IS NOT NULL, n.wall FROM numbered AS n
        ),
        noted AS (
            INSERT INTO fanfare.scheduled_events (scheduled_id, event_id) SELECT n.id, n.event_id FROM numbered AS n
        )
        SELECT count(*) FROM numbered
        """
    )

    /// Reads when the next scheduled event is due, or was; no row if none is scheduled.
    package static let nextScheduled = Statement<Timestamp>(
        "next_scheduled",
        "SELECT s.at FROM fanfare.scheduled AS s ORDER BY s.at LIMIT 1"
    )

    /// Deletes some notes of which event a scheduled row became, for events that the log no longer has.
    ///
    /// Binds: retentionDays.
    package static let forgetScheduledEvents = Statement<Void, Int32>(
        "forget_scheduled_events",
        """
        DELETE FROM fanfare.scheduled_events WHERE ctid = ANY (ARRAY(
            SELECT e.ctid FROM fanfare.scheduled_events AS e
            WHERE e.event_id < ((statement_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - $1)::bigint << 32
            ORDER BY e.event_id LIMIT \(Forgetting.limit)))
        """
    )
}
