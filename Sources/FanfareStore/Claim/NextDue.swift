package import FanfareCore
package import PostgresClient

/// The place where batches wait: a gate, a target and a lane, for first attempts and retries.
package struct BatchPlace: Hashable, Sendable {
    /// The gate; 0 for none.
    package let gate: Int32
    package let target: Int16
    package let lane: Lane

    package init(gate: Int32, target: Int16, lane: Lane) {
        self.gate = gate
        self.target = target
        self.lane = lane
    }
}

extension PostgresBinds {
    /// Binds places as three arrays: gates, targets and lanes.
    mutating func append(_ places: [BatchPlace]) {
        append(places.map(\.gate))
        append(places.map(\.target))
        append(places.map(\.lane.rawValue))
    }
}

/// Reads when the next batch of some places is due: now, later, or nil if there is none.
package struct NextDue: PostgresStatement {
    package static let name = "next_due"
    package static let sql = """
        SELECT min(d.not_before), statement_timestamp(), (SELECT count(*) FROM fanfare.targets)
        FROM \(QueueSQL.firstOfEachPlace)
        """

    package let places: [BatchPlace]

    package init(places: [BatchPlace]) {
        self.places = places
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(places)
    }

    /// When the next batch is due; nil if none waits.
    package struct Row {
        package let due: Timestamp?
        package let now: Timestamp
        /// How many targets there are in all, requested or not.
        package let targetCount: Int
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(due: try row.timestamp(orNil: 0), now: try row.timestamp(1), targetCount: Int(try row.int64(2)))
    }
}
