package import FanfareCore
package import PostgresClient

/// Reads when the next batch of each of some places is due; no row for places where none waits.
package struct NextPaced: PostgresStatement {
    package static let name = "next_paced"
    package static let sql = """
        SELECT p.gate_id, p.target_id, p.lane, (extract(epoch FROM min(d.not_before) - statement_timestamp()) * 1000000)::bigint
        FROM \(QueueSQL.firstOfEachPlace)
        GROUP BY p.gate_id, p.target_id, p.lane
        """

    package let places: [BatchPlace]

    package init(places: [BatchPlace]) {
        self.places = places
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(places)
    }

    /// The next batch of a place.
    package struct Row {
        package let place: BatchPlace
        /// How long until the first batch is due; in the past if it is.
        package let wait: Microseconds
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        let place = BatchPlace(
            gate: try row.int32(0),
            target: try row.int16(1),
            lane: Lane(rawValue: try row.int16(2)) ?? .normal
        )
        return Row(place: place, wait: try row.int64(3))
    }
}
