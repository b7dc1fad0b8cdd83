package import PostgresClient

/// The outbox's events that a round plans.
///
/// The others stay, for rounds with a floor of their own. An event that no other choice takes is missed once a floor
/// has passed it, so a change of the choices must reset all floors.
package struct OutboxChoice: Equatable, PostgresBind {
    /// The only types; nil for all.
    package var only: [String]?
    /// The excluded types.
    package var except: [String] = []
    /// The stored size in bytes, by type, from which a payload is suspected to be a bomb.
    package var suspects: [String: Int32] = [:]
    /// Whether it takes the suspects, or everything except them.
    package var isForSuspects = false
    /// The end of the range that a round reads, so that skipping many events does not make it long; nil for the end of
    /// the outbox.
    package var end: OutboxPlace?

    package init(
        only: [String]? = nil,
        except: [String] = [],
        suspects: [String: Int32] = [:],
        isForSuspects: Bool = false,
        end: OutboxPlace? = nil
    ) {
        self.only = only
        self.except = except
        self.suspects = suspects
        self.isForSuspects = isForSuspects
        self.end = end
    }

    package func append(to binds: inout PostgresBinds) {
        let suspects = suspects.sorted { $0.key < $1.key }
        binds.append(only)
        binds.append(except)
        binds.append(end?.xid ?? String(UInt64.max))
        binds.append(end?.id ?? .max)
        binds.append(suspects.map(\.key))
        binds.append(suspects.map(\.value))
        binds.append(isForSuspects)
    }

    /// Returns the condition for an event `o` that is chosen and need not wait.
    ///
    /// Under every choice, events wait that are younger than an unchecked rule of their type: the CTE `unjudged`. Of
    /// messages, only those of the unchecked shape wait. `IN (SELECT unnest …)` is hashed, while `= ANY` of a parameter scans the array for each row.
    /// - Parameter first: the number of the first parameter of the choice.
    /// - Returns: the condition.
    package static func condition(parametersFrom first: Int) -> String {
        let (only, except, endXID, endID) = ("$\(first)", "$\(first + 1)", "$\(first + 2)", "$\(first + 3)")
        let (types, sizes, isForSuspects) = ("$\(first + 4)", "$\(first + 5)", "$\(first + 6)")
        return """
            (xid, id) <= (\(endXID)::text::xid8, \(endID)::bigint)
                AND (\(only)::text[] IS NULL OR o.type IN (SELECT unnest(\(only)::text[])))
                AND o.type NOT IN (SELECT unnest(\(except)::text[]))
                AND (o.type NOT IN (SELECT event_type FROM unjudged) OR NOT EXISTS (
                    SELECT FROM unjudged AS u WHERE u.event_type = o.type AND (u.shape IS NULL OR u.shape = o.payload ->> 'shape')
                        AND (u.rule_created_at <= o.created_at OR fanfare.is_emitted_after(o.id, u.rule_event_number))))
                AND (cardinality(\(types)::text[]) > 0 AND EXISTS (
                    SELECT FROM unnest(\(types)::text[], \(sizes)::int[]) AS s (type, size)
                    WHERE s.type = o.type AND pg_column_size(o.payload) >= s.size)) = \(isForSuspects)::boolean
            """
    }
}

/// The size of an event's payload in stored bytes; payloads above about 2,000 bytes are compressed.
///
/// It is known without reading the payload: as text, a thousand payloads of 61 KB took 200 ms, and many times that on a
/// busy machine.
package struct OutboxSize: Equatable {
    package let eventID: Int64
    package let type: String
    package let size: Int32
    /// The id of its trace, for the log; nil if it has none, or if it was not requested.
    package var traceID: String? = nil
}

extension SQL {
    /// Reads the sizes of the events that a round would take.
    ///
    /// Binds: floor, limit, choice.
    package static let outboxSizes = Statement<OutboxSize, OutboxFloor, Int32, OutboxChoice>(
        "outbox_sizes",
        """
        WITH \(OutboxQuery.unjudgedSQL)
        SELECT o.id, o.type, pg_column_size(o.payload)
        FROM \(OutboxQuery(columns: "xid, id, type, payload", condition: OutboxChoice.condition(parametersFrom: 6)).both) AS o
        ORDER BY o.xid, o.id LIMIT $5::int
        """,
        row: { OutboxSize(eventID: $0, type: $1, size: $2) }
    )

    /// Moves the events that a round would take to the quarantine, where each is planned alone, without reading them.
    ///
    /// Daemons of the previous version, and any leader of maintenance, find them there too.
    ///
    /// Binds: floor, limit, choice.
    package static let quarantineEvents = Statement<PlanRoundPart, OutboxFloor, Int32, OutboxChoice>(
        "quarantine_events",
        """
        WITH
        \(OutboxQuery.takeSQL(where: OutboxChoice.condition(parametersFrom: 6))),
        moved AS (
            INSERT INTO fanfare.quarantine (xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own, wall)
            SELECT xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own, wall FROM taken
        )
        SELECT 0::smallint, (SELECT count(*) FROM taken), 0, pg_current_snapshot()::text
        UNION ALL
        \(OutboxQuery.lastRowSQL)
        UNION ALL
        \(OutboxQuery.unjudgedRowSQL)
        UNION ALL
        SELECT 6::smallint, id, pg_column_size(payload), concat(\(traceIDSQL(of: "trace")), ' ', type) FROM taken
        """
    ) { row throws(PostgresError) in
        try PlanRoundPart.decode(row)
    }
}
