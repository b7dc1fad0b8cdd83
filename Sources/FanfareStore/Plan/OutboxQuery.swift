package import PostgresClient

/// SQL that reads the outbox from a floor on: first events of transactions that were open at the last pass's snapshot,
/// then those of transactions that began since.
///
/// The second part is bounded by one row comparison. With an additional `xid >= …`, the index scan used the looser
/// bound, and a round walked past every entry that was dead and not yet vacuumed (2.4 ms instead of 0.6 after 64,000
/// events). The floor is `$1` to `$4`, the limit `$5`.
struct OutboxQuery {
    /// The SQL for the selected columns of an event.
    let columns: String
    /// The condition on an event `o`; nil for all.
    var condition: String?

    /// The query for transactions that were open.
    var opened: String {
        """
        SELECT \(columns) FROM fanfare.outbox AS o
            WHERE xid = ANY ($1::text[]::xid8[]) AND (xid, id) > ($3::text::xid8, $4::bigint)\(more)
            ORDER BY xid, id
        """
    }

    /// The query for transactions that had not begun.
    var begun: String {
        """
        SELECT \(columns) FROM fanfare.outbox AS o
            WHERE (xid, id) > (greatest($2::text::xid8, $3::text::xid8),
                CASE WHEN $3::text::xid8 >= $2::text::xid8 THEN $4::bigint ELSE 0 END)\(more)
            ORDER BY xid, id
        """
    }

    /// Both queries up to the limit, in parentheses.
    var both: String {
        """
        (
            (\(opened) LIMIT $5::int)
            UNION ALL
            (\(begun) LIMIT $5::int)
        )
        """
    }

    private var more: String { condition.map { "\n                AND \($0)" } ?? "" }

    /// Returns the CTEs that take events.
    ///
    /// The last one is `taken`. Before it is `unjudged`: unchecked versions of rules that have no version in force, with
    /// the shape of the messages if it is a rule of messages. A snapshot that sees an event sees them too, if they were
    /// stored before it.
    ///
    /// Rows are joined by ctid, because a join by key became a scan; that is safe here, since rows of the outbox are
    /// never updated.
    ///
    /// - Parameter condition: the condition on an event `o`.
    /// - Returns: the CTEs, without a trailing comma.
    static func takeSQL(where condition: String) -> String {
        let query = OutboxQuery(columns: "ctid", condition: condition)
        return """
            \(unjudgedSQL),
            opened AS MATERIALIZED (
                SELECT ARRAY(
                    \(query.opened) LIMIT $5::int FOR UPDATE SKIP LOCKED) AS rows
            ),
            taken AS (
                DELETE FROM fanfare.outbox
                WHERE ctid = ANY ((SELECT rows FROM opened) || ARRAY(
                    \(query.begun) LIMIT (SELECT $5::int - cardinality(rows) FROM opened) FOR UPDATE SKIP LOCKED))
                RETURNING xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own, wall
            )
            """
    }

    static let unjudgedSQL = """
        unjudged AS MATERIALIZED (
            SELECT v.id, v.event_type, v.rule_created_at, v.rule_event_number,
                (SELECT s.name FROM fanfare.shapes AS s WHERE s.rule_id = v.rule_id) AS shape
            FROM fanfare.rule_versions AS v
            WHERE v.state = 'unchecked' AND v.retired_at IS NULL AND v.event_type IS NOT NULL
                AND v.rule_created_at IS NOT NULL AND NOT EXISTS (
                    SELECT FROM fanfare.rule_versions AS a
                    WHERE a.rule_id = v.rule_id AND a.state = 'active' AND a.retired_at IS NULL)
        )
        """

    /// The row of a round's result with the versions that events wait for.
    static let unjudgedRowSQL = """
        SELECT 5::smallint, 0::bigint, 0, md5(string_agg(id::text, ' ' ORDER BY id)) FROM unjudged HAVING count(*) > 0
        """

    /// The row of a round's result with the last event that it took.
    static let lastRowSQL = """
        (SELECT 1::smallint, t.id, 0, t.xid::text FROM taken AS t ORDER BY t.xid DESC, t.id DESC LIMIT 1)
        """
}

extension SQL {
    /// Finds the event at a distance after a floor, chosen or not; no row if there are fewer.
    ///
    /// Binds: floor, distance.
    package static let outboxAhead = Statement<OutboxPlace, OutboxFloor, Int32>(
        "outbox_ahead",
        """
        SELECT xid::text, id FROM \(OutboxQuery(columns: "xid, id").both) AS o
        ORDER BY o.xid, o.id OFFSET $5::int - 1 LIMIT 1
        """,
        row: OutboxPlace.init
    )

    /// Reads whether there are events after a floor, and the snapshot that shows it.
    ///
    /// Binds: the floor, 1.
    package static let outboxProbe = Statement<(snapshot: OutboxSnapshot?, hasEvents: Bool), OutboxFloor, Int32>(
        "outbox_probe",
        "SELECT pg_current_snapshot()::text, EXISTS (SELECT FROM \(OutboxQuery(columns: "xid").both) AS o)",
        row: { (OutboxSnapshot($0), $1) }
    )
}

/// The position of a planning session in the outbox, by transaction id and not by row id.
///
/// A **pass** is a series of rounds until one finds fewer events than its limit. The next pass then has to read only
/// events of transactions that were open or not begun at the snapshot of the pass's first round. This is exact even if
/// commits are out of order, and an old snapshot in another session does not slow it down. The exception is events that
/// another session had locked, if that session never commits: ``PlannerLoop/sweepInterval``.
package struct OutboxFloor: Equatable, PostgresBind {
    /// The transactions that were open at the last pass's snapshot.
    package var open: [String] = []
    /// The first transaction that had not begun at that snapshot.
    package var next = "0"
    /// The last event taken in this pass.
    package var afterXID = "0"
    package var afterID: Int64 = 0
    /// The snapshot of this pass's first round; nil between passes.
    package var snapshot: OutboxSnapshot?

    package init(
        open: [String] = [],
        next: String = "0",
        afterXID: String = "0",
        afterID: Int64 = 0,
        snapshot: OutboxSnapshot? = nil
    ) {
        self.open = open
        self.next = next
        self.afterXID = afterXID
        self.afterID = afterID
        self.snapshot = snapshot
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(open)
        binds.append(next)
        binds.append(afterXID)
        binds.append(afterID)
    }

    /// Advances the floor after a committed round.
    ///
    /// - Parameters:
    ///   - round: the round's result.
    ///   - limit: the most events that it would have taken.
    ///   - end: the end of the range that it read; nil for the end of the outbox.
    package mutating func advance(after round: PlanRoundSummary, limit: Int, end: OutboxPlace? = nil) {
        if snapshot == nil { snapshot = round.snapshot }
        let isFull = round.taken >= limit
        if let place = isFull ? round.last : end ?? round.last {
            afterXID = place.xid
            afterID = place.id
        }
        guard !isFull, end == nil, let seen = snapshot else { return }
        self = OutboxFloor(open: seen.open, next: seen.next)
    }
}

/// The place of an event in the outbox or the quarantine.
package struct OutboxPlace: Hashable {
    package let xid: String
    package let id: Int64
}

/// A `pg_snapshot`: the transactions that were open, and the first that had not begun.
package struct OutboxSnapshot: Equatable, Sendable {
    /// The oldest transaction that may be open; all earlier ones had ended.
    package let oldest: String
    /// The first transaction that had not begun.
    package let next: String
    /// The transactions in between that were open.
    package let open: [String]

    /// Parses `xmin:xmax:xip,xip`.
    ///
    /// - Parameter text: the text of `pg_current_snapshot()`.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        oldest = String(parts[0])
        next = String(parts[1])
        open = parts[2].split(separator: ",").map(String.init)
    }
}
