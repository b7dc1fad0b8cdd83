internal import FanfareCore
package import PostgresClient

/// The place of a row in its table.
package struct RowPlace: Comparable, Sendable {
    package let block: Int64
    package let row: Int32

    /// The text form of a `tid` in PostgreSQL.
    package var text: String { "(\(block),\(row))" }

    package static func < (left: RowPlace, right: RowPlace) -> Bool {
        (left.block, left.row) < (right.block, right.row)
    }
}

/// How far one partition of the log has been read: rows are only ever added at its end.
package struct LogCursor: Equatable, Sendable {
    /// How many blocks one pass reads at most.
    package static let reach: Int64 = 64

    package private(set) var after = RowPlace(block: 0, row: 0)

    package init() {}

    /// Begins a pass: near the end if the last place is too far back, and at the start if the partition was truncated.
    ///
    /// - Parameter blocks: the partition's length.
    package mutating func begin(blocks: Int64) {
        if after.block > blocks { after = RowPlace(block: 0, row: 0) }
        if blocks - after.block > Self.reach { after = RowPlace(block: blocks - Self.reach, row: 0) }
    }

    /// Moves the cursor past the rows that were read.
    package mutating func passed(_ places: [RowPlace]) {
        after = max(after, places.max() ?? after)
    }
}

extension SQL {
    /// Reads the lengths, in blocks, of the partitions into which batches are closed now.
    package static let logLengths = Statement<(day: Int16, blocks: Int64)>(
        "log_lengths",
        """
        SELECT d.day::smallint,
            pg_relation_size(to_regclass('fanfare.batch_log_' || to_char(d.day, 'FM00'))) / current_setting('block_size')::bigint
        FROM (
            SELECT (((clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01') - back) % \(EventID.ringDays) AS day
            FROM generate_series(0, 1) AS back
        ) AS d
        """,
        row: { ($0, $1) }
    )

    /// Reads batches that were closed after a place in one partition of the log, in physical order.
    ///
    /// Binds: day, the text of the place.
    package static let closedBatches = Statement<(place: RowPlace, batch: ClosedBatch), Int16, String>(
        "closed_batches",
        """
        SELECT (b.ctid::text::point)[0]::bigint, (b.ctid::text::point)[1]::int, b.id, coalesce(b.event_id, b.event_ids[1]),
            cardinality(b.device_ids), b.outcomes, (b.closed_at AT TIME ZONE 'UTC')::date - DATE '2020-01-01'
        FROM fanfare.batch_log AS b
        WHERE b.day = $1 AND b.ctid > $2::text::tid
        LIMIT 1000
        """
    ) { row throws(PostgresError) in
        let place = RowPlace(block: try row.int64(0), row: try row.int32(1))
        let batch = ClosedBatch(
            id: try row.int64(2),
            eventID: try row.int64(3),
            deliveries: Int(try row.int32(4)),
            outcomes: try row.bytes(5),
            closedDay: try row.int32(6)
        )
        return (place, batch)
    }

    /// Counts the deliveries in the batches that hold the next attempts of some batches, waiting or closed.
    ///
    /// One snapshot covers both tables, so a batch that is being closed is in exactly one of them.
    ///
    /// Binds: the batches, the days on which they were closed.
    package static let retriedDeliveries = Statement<(id: Int64, deliveries: Int64), [Int64], [Int32]>(
        "retried_deliveries",
        """
        SELECT p.id,
            (SELECT coalesce(sum(cardinality(c.device_ids)), 0)::bigint FROM fanfare.batches AS c WHERE c.parent_id = p.id)
            + (SELECT coalesce(sum(cardinality(c.device_ids)), 0)::bigint FROM fanfare.batch_log AS c
                WHERE c.parent_id = p.id
                    AND c.day = ANY (ARRAY[((p.day - 1) % \(EventID.ringDays))::smallint,
                        (p.day % \(EventID.ringDays))::smallint, ((p.day + 1) % \(EventID.ringDays))::smallint]))
        FROM unnest($1::bigint[], $2::int[]) AS p (id, day)
        """,
        row: { ($0, $1) }
    )
}
