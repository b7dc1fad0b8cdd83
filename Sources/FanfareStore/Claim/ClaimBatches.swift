package import FanfareCore
package import PostgresClient

/// How many batches of one of a target's queues a claim may take.
package struct ClaimWish: Hashable {
    package var target: Int16
    package var queue: SendQueue
    package var count: Int32
    /// Nothing that was due before this is looked for: dead rows lie there (``ClaimFloors``).
    package var floor: Timestamp

    package init(target: Int16, queue: SendQueue, count: Int32, floor: Timestamp) {
        self.target = target
        self.queue = queue
        self.count = count
        self.floor = floor
    }
}

/// One claim of a batch.
///
/// A daemon can claim a batch again while requests of its own earlier claim are still awaited: under a new owner number, after
/// it lost its control session.
package struct BatchClaim: Hashable, Comparable, Sendable {
    package let batchID: Int64
    package let leaseToken: Int64

    package static func < (left: BatchClaim, right: BatchClaim) -> Bool {
        (left.batchID, left.leaseToken) < (right.batchID, right.leaseToken)
    }
}

/// A batch as its row stands when it was claimed.
package struct ClaimedBatch: Equatable {
    package let id: Int64
    package let leaseToken: Int64
    package let target: Int16
    package let lane: Int16
    package let ruleVersion: Int32
    package let attempt: Int16
    /// What was tried before for these pairs.
    package let history: RetryHistory
    /// The event of a broadcast; nil where the pairs have different ones.
    package let eventID: Int64?
    package let eventIDs: [Int64]
    package let deviceIDs: [Int64]
    /// What a daemon before us had recorded; empty if nothing.
    package let outcomes: [UInt8]
    package let notBefore: Timestamp

    /// Where it waits.
    package var queue: SendQueue {
        SendQueue(lane: Lane(rawValue: lane) ?? .normal, isRetry: attempt > 1 && !history.isMove)
    }

    /// Which claim of it this is.
    package var claim: BatchClaim { BatchClaim(batchID: id, leaseToken: leaseToken) }

    /// The event of one pair.
    package func eventID(at position: Int) -> Int64 {
        eventID ?? eventIDs[position]
    }
}

/// Takes batches that are due, for one owner; no transaction stays open while they are sent.
///
/// A batch that was rescued goes on behind its checkpoint, hence `outcomes`.
package struct ClaimBatches: PostgresStatement {
    package static let name = "claim_batches"
    package static let sql = """
        WITH picked AS MATERIALIZED (
            SELECT b.id
            FROM unnest($1::smallint[], $2::smallint[], $3::boolean[], $4::int[], $5::timestamptz[])
                AS w (target_id, lane, is_retry, n, floor)
            CROSS JOIN LATERAL (
                SELECT x.id FROM fanfare.batches AS x
                WHERE x.owner IS NULL AND x.target_id = w.target_id AND x.lane = w.lane AND x.is_retry = w.is_retry
                    AND x.not_before >= w.floor AND x.not_before <= statement_timestamp()
                ORDER BY x.not_before, x.id LIMIT w.n
                FOR UPDATE SKIP LOCKED
            ) AS b
        )
        UPDATE fanfare.batches AS b SET owner = $6, lease_token = $7
        FROM picked
        WHERE b.id = picked.id AND b.owner IS NULL
        RETURNING b.id, b.lease_token, b.target_id, b.lane, b.rule_version, b.attempt, b.history, b.event_id, b.event_ids,
            b.device_ids, b.outcomes, b.not_before
        """

    package let wishes: [ClaimWish]
    package let owner: Int32
    package let leaseToken: Int64

    package init(wishes: [ClaimWish], owner: Int32, leaseToken: Int64) {
        self.wishes = wishes
        self.owner = owner
        self.leaseToken = leaseToken
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(wishes.map(\.target))
        binds.append(wishes.map(\.queue.lane.rawValue))
        binds.append(wishes.map(\.queue.isRetry))
        binds.append(wishes.map(\.count))
        binds.append(wishes.map(\.floor))
        binds.append(owner)
        binds.append(leaseToken)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> ClaimedBatch {
        ClaimedBatch(
            id: try row.int64(0),
            leaseToken: try row.int64(1),
            target: try row.int16(2),
            lane: try row.int16(3),
            ruleVersion: try row.int32(4),
            attempt: try row.int16(5),
            history: RetryHistory(encoded: try row.int32(6)),
            eventID: try row.int64(orNil: 7),
            eventIDs: try row.int64s(orNil: 8) ?? [],
            deviceIDs: try row.int64s(9),
            outcomes: try row.bytes(10),
            notBefore: try row.timestamp(11)
        )
    }
}

/// When the next batch of the given apps is due: now, later, or nil if there is none.
package struct NextDue: PostgresStatement {
    package static let name = "next_due"
    package static let sql = """
        SELECT min(d.not_before), statement_timestamp(), (SELECT count(*) FROM fanfare.targets)
        FROM unnest($1::smallint[]) AS t (id) CROSS JOIN unnest(ARRAY[0, 1, 2]::smallint[]) AS l (lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.batches AS x
            WHERE x.owner IS NULL AND x.target_id = t.id AND x.lane = l.lane AND x.is_retry = r.is_retry
            ORDER BY x.not_before LIMIT 1
        ) AS d
        """

    package let targets: [Int16]

    package init(targets: [Int16]) {
        self.targets = targets
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(targets)
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
