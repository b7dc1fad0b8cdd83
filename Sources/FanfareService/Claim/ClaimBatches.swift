internal import FanfareCore
internal import PostgresClient

/// How many batches of one of a target's queues a claim may take.
struct ClaimWish: Hashable {
    var target: Int16
    var queue: SendQueue
    var count: Int32
    /// Nothing that was due before this is looked for: dead rows lie there (``ClaimFloors``).
    var floor: Timestamp
}

/// One claim of a batch.
///
/// A daemon can claim a batch again while requests of its own earlier claim are still awaited: under a new owner number, after
/// it lost its control session.
struct BatchClaim: Hashable, Comparable, Sendable {
    let batchID: Int64
    let leaseToken: Int64

    static func < (left: BatchClaim, right: BatchClaim) -> Bool {
        (left.batchID, left.leaseToken) < (right.batchID, right.leaseToken)
    }
}

/// A batch as its row stands when it was claimed.
struct ClaimedBatch: Equatable {
    let id: Int64
    let leaseToken: Int64
    let target: Int16
    let lane: Int16
    let ruleVersion: Int32
    let attempt: Int16
    /// What was tried before for these pairs.
    let history: RetryHistory
    /// The event of a broadcast; nil where the pairs have different ones.
    let eventID: Int64?
    let eventIDs: [Int64]
    let deviceIDs: [Int64]
    /// What a daemon before us had recorded; empty if nothing.
    let outcomes: [UInt8]
    let notBefore: Timestamp

    /// Where it waits.
    var queue: SendQueue {
        SendQueue(lane: Lane(rawValue: lane) ?? .normal, isRetry: attempt > 1 && !history.isMove)
    }

    /// Which claim of it this is.
    var claim: BatchClaim { BatchClaim(batchID: id, leaseToken: leaseToken) }

    /// The event of one pair.
    func eventID(at position: Int) -> Int64 {
        eventID ?? eventIDs[position]
    }
}

/// Takes batches that are due, for one owner; no transaction stays open while they are sent.
///
/// A batch that was rescued goes on behind its checkpoint, hence `outcomes`.
struct ClaimBatches: PostgresStatement {
    static let name = "claim_batches"
    static let sql = """
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

    let wishes: [ClaimWish]
    let owner: Int32
    let leaseToken: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(wishes.map(\.target))
        binds.append(wishes.map(\.queue.lane.rawValue))
        binds.append(wishes.map(\.queue.isRetry))
        binds.append(wishes.map(\.count))
        binds.append(wishes.map(\.floor))
        binds.append(owner)
        binds.append(leaseToken)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> ClaimedBatch {
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
struct NextDue: PostgresStatement {
    static let name = "next_due"
    static let sql = """
        SELECT min(d.not_before), statement_timestamp(), (SELECT count(*) FROM fanfare.targets)
        FROM unnest($1::smallint[]) AS t (id) CROSS JOIN unnest(ARRAY[0, 1, 2]::smallint[]) AS l (lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.batches AS x
            WHERE x.owner IS NULL AND x.target_id = t.id AND x.lane = l.lane AND x.is_retry = r.is_retry
            ORDER BY x.not_before LIMIT 1
        ) AS d
        """

    let targets: [Int16]

    func bind(to binds: inout PostgresBinds) {
        binds.append(targets)
    }

    /// When the next batch is due; nil if none waits.
    struct Row {
        let due: Timestamp?
        let now: Timestamp
        /// How many targets there are, asked for or not.
        let targetCount: Int
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(due: try row.timestamp(orNil: 0), now: try row.timestamp(1), targetCount: Int(try row.int64(2)))
    }
}
