package import PostgresClient

/// The outbox's events that a round plans.
///
/// The others stay, for rounds with a floor of their own. An event that no other choice takes is missed once a floor
/// has passed it, so a change of the choices must reset all floors.
package struct OutboxChoice: Equatable {
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

    /// Returns the condition for an event `o` that is chosen and need not wait.
    ///
    /// Under every choice, events wait that are younger than an unchecked rule of their type: the CTE `unjudged`. `IN
    /// (SELECT unnest …)` is hashed, while `= ANY` of a parameter scans the array for each row.
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
                    SELECT FROM unjudged AS u WHERE u.event_type = o.type
                        AND (u.rule_created_at <= o.created_at OR fanfare.is_emitted_after(o.id, u.rule_event_number))))
                AND (cardinality(\(types)::text[]) > 0 AND EXISTS (
                    SELECT FROM unnest(\(types)::text[], \(sizes)::int[]) AS s (type, size)
                    WHERE s.type = o.type AND pg_column_size(o.payload) >= s.size)) = \(isForSuspects)::boolean
            """
    }
}

extension PostgresBinds {
    /// Adds the parameters of ``OutboxChoice/condition(parametersFrom:)``.
    mutating func append(_ choice: OutboxChoice) {
        let suspects = choice.suspects.sorted { $0.key < $1.key }
        append(choice.only)
        append(choice.except)
        append(choice.end?.xid ?? String(UInt64.max))
        append(choice.end?.id ?? .max)
        append(suspects.map(\.key))
        append(suspects.map(\.value))
        append(choice.isForSuspects)
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

/// Reads the sizes of the events that a round would take.
package struct OutboxSizes: PostgresStatement {
    package static let name = "outbox_sizes"
    package static let sql = """
        WITH \(OutboxQuery.unjudgedSQL)
        SELECT o.id, o.type, pg_column_size(o.payload)
        FROM \(OutboxQuery(columns: "xid, id, type, payload", condition: OutboxChoice.condition(parametersFrom: 6)).both) AS o
        ORDER BY o.xid, o.id LIMIT $5::int
        """

    package let floor: OutboxFloor
    package let choice: OutboxChoice
    package let limit: Int

    package init(floor: OutboxFloor, choice: OutboxChoice, limit: Int) {
        self.floor = floor
        self.choice = choice
        self.limit = limit
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(floor, limit: limit)
        binds.append(choice)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> OutboxSize {
        OutboxSize(eventID: try row.int64(0), type: try row.string(1), size: try row.int32(2))
    }
}

/// Moves the events that a round would take to the quarantine, where each is planned alone, without reading them.
///
/// Daemons of the previous version, and any leader of maintenance, find them there too.
package struct QuarantineEvents: PostgresStatement {
    package static let name = "quarantine_events"
    package static let sql = """
        WITH
        \(OutboxQuery.takeSQL(where: OutboxChoice.condition(parametersFrom: 6))),
        moved AS (
            INSERT INTO fanfare.quarantine (xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own)
            SELECT xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own FROM taken
        )
        SELECT 0::smallint, (SELECT count(*) FROM taken), 0, pg_current_snapshot()::text
        UNION ALL
        \(OutboxQuery.lastRowSQL)
        UNION ALL
        \(OutboxQuery.unjudgedRowSQL)
        UNION ALL
        SELECT 6::smallint, id, pg_column_size(payload), concat(\(traceIDSQL(of: "trace")), ' ', type) FROM taken
        """

    package let floor: OutboxFloor
    package var choice = OutboxChoice()
    package let limit: Int

    package init(floor: OutboxFloor, choice: OutboxChoice = OutboxChoice(), limit: Int) {
        self.floor = floor
        self.choice = choice
        self.limit = limit
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(floor, limit: limit)
        binds.append(choice)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}
