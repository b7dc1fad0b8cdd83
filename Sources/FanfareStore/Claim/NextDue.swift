package import FanfareCore
package import PostgresClient

/// Where batches wait: behind a gate, for a target, in a lane; first attempts and retries alike.
package struct BatchPlace: Hashable, Sendable {
    /// 0 for none.
    package let gate: Int32
    package let target: Int16
    package let lane: Lane

    package init(gate: Int32, target: Int16, lane: Lane) {
        self.gate = gate
        self.target = target
        self.lane = lane
    }
}

/// When the next batch of some places is due: now, later, or nil if there is none.
package struct NextDue: PostgresStatement {
    package static let name = "next_due"
    package static let sql = """
        SELECT min(d.not_before), statement_timestamp(), (SELECT count(*) FROM fanfare.targets)
        FROM unnest($1::int[], $2::smallint[], $3::smallint[]) AS p (gate_id, target_id, lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.batches AS x
            WHERE \(QueueSQL.waits("x", gate: "p.gate_id", target: "p.target_id", lane: "p.lane", isRetry: "r.is_retry"))
            ORDER BY x.not_before LIMIT 1
        ) AS d
        """

    package let places: [BatchPlace]

    package init(places: [BatchPlace]) {
        self.places = places
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(places.map(\.gate))
        binds.append(places.map(\.target))
        binds.append(places.map(\.lane.rawValue))
    }

    /// When the next batch is due; nil if none waits.
    package struct Row {
        package let due: Timestamp?
        package let now: Timestamp
        /// How many targets there are, asked for or not.
        package let targetCount: Int
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(due: try row.timestamp(orNil: 0), now: try row.timestamp(1), targetCount: Int(try row.int64(2)))
    }
}
