package import FanfareCore
package import PostgresClient

/// When the next batch is due behind each of some gates; no row for those that nothing waits behind.
package struct NextPaced: PostgresStatement {
    package static let name = "next_paced"
    package static let sql = """
        SELECT p.gate_id, (extract(epoch FROM min(d.not_before) - statement_timestamp()) * 1000000)::bigint
        FROM \(QueueSQL.firstOfEachPlace)
        GROUP BY p.gate_id
        """

    package let places: [BatchPlace]

    package init(places: [BatchPlace]) {
        self.places = places
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(places)
    }

    /// What waits behind a gate.
    package struct Row {
        package let gate: Int32
        /// How long until the first of it is due; in the past if it is.
        package let wait: Microseconds

        package init(gate: Int32, wait: Microseconds) {
            self.gate = gate
            self.wait = wait
        }
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(gate: try row.int32(0), wait: try row.int64(1))
    }
}
