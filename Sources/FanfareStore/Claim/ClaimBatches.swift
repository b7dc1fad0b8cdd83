package import FanfareCore
package import PostgresClient

/// How many batches of one of a target's queues a claim may take, of those behind one gate.
package struct BatchRequest: Hashable {
    /// 0 for none.
    package var gate: Int32
    package var target: Int16
    package var queue: SendQueue
    /// The same for all gates of a queue: none may take more than there is room for in the queue, nor do they together.
    package var count: Int32
    /// Nothing that was due before this is looked for: dead rows lie there (``ClaimFloors``).
    package var floor: Timestamp

    package init(gate: Int32 = 0, target: Int16, queue: SendQueue, count: Int32, floor: Timestamp) {
        self.gate = gate
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
    /// Where it waits.
    package let queue: SendQueue
    /// The gate it waits behind; 0 for none.
    package let gate: Int32
    package let ruleVersion: Int32
    package let attempt: Int16
    /// What was tried before for these deliveries.
    package let history: RetryHistory
    /// The event of a broadcast; nil where the deliveries have different ones.
    package let eventID: Int64?
    package let eventIDs: [Int64]
    package let deviceIDs: [Int64]
    /// What a daemon before us had recorded; empty if nothing.
    package let outcomes: [UInt8]
    package let notBefore: Timestamp
    /// Whence its deliveries' time to live runs; nil for when their events were emitted.
    package let dueAt: Timestamp?
    /// When it was claimed, by the database's clock.
    package let claimedAt: Timestamp

    /// Whether its deliveries were sent before, or held up.
    package var wasTried: Bool { history.attempts > 0 || history.waits > 0 }

    /// The lane it waits in.
    package var lane: Int16 { queue.lane.rawValue }

    /// Which claim of it this is.
    package var claim: BatchClaim { BatchClaim(batchID: id, leaseToken: leaseToken) }

    /// The event of one delivery.
    package func eventID(at position: Int) -> Int64 {
        eventID ?? eventIDs[position]
    }
}

/// Takes batches that are due and behind no gate, for one owner; no transaction stays open while they are sent.
///
/// A batch that was rescued goes on behind its checkpoint, hence `outcomes`.
package struct ClaimBatches: PostgresStatement {
    package static let name = "claim_batches"
    package static let sql = """
        WITH picked AS MATERIALIZED (
            SELECT b.id
            FROM unnest($3::smallint[], $4::smallint[], $5::boolean[], $6::int[], $7::timestamptz[])
                AS w (target_id, lane, is_retry, n, floor)
            CROSS JOIN LATERAL (\(ClaimSQL.ready(gate: "0"))) AS b
        )
        \(ClaimSQL.taking)
        """

    package let requests: [BatchRequest]
    package let owner: Int32
    package let leaseToken: Int64

    /// Asks for batches.
    ///
    /// - Parameters:
    ///   - requests: which, and how many; none behind a gate.
    ///   - owner: whose they will be.
    ///   - leaseToken: what tells this claim from its owner's others.
    package init(requests: [BatchRequest], owner: Int32, leaseToken: Int64) {
        self.requests = requests
        self.owner = owner
        self.leaseToken = leaseToken
    }

    package func bind(to binds: inout PostgresBinds) {
        ClaimSQL.bind(requests, owner: owner, leaseToken: leaseToken, to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> ClaimedBatch {
        try ClaimSQL.decode(row)
    }
}

/// Takes batches that are due, also of those behind open gates; otherwise as ``ClaimBatches``, which is the cheaper one.
///
/// Whether a gate is open is looked at here: whoever requests may have heard of it half a second ago, and what is paused by now
/// stays where it is, and so does what has a rate by now, which ``ClaimPaced`` takes. All gates of a queue have its room in
/// common, and what was due first goes first.
package struct ClaimGated: PostgresStatement {
    package static let name = "claim_gated"
    package static let sql = """
        WITH ready AS MATERIALIZED (
            SELECT b.id, w.n,
                row_number() OVER (PARTITION BY w.target_id, w.lane, w.is_retry ORDER BY b.not_before, b.id) AS place
            FROM unnest($8::int[], $3::smallint[], $4::smallint[], $5::boolean[], $6::int[], $7::timestamptz[])
                AS w (gate_id, target_id, lane, is_retry, n, floor)
            CROSS JOIN LATERAL (\(ClaimSQL.ready(gate: "w.gate_id"))) AS b
            WHERE \(QueueSQL.isOpen("w.gate_id", hasNoRate: true))
        ),
        picked AS MATERIALIZED (SELECT id FROM ready WHERE place <= n)
        \(ClaimSQL.taking)
        """

    package let requests: [BatchRequest]
    package let owner: Int32
    package let leaseToken: Int64

    /// Asks for batches.
    ///
    /// - Parameters:
    ///   - requests: which, and how many.
    ///   - owner: whose they will be.
    ///   - leaseToken: what tells this claim from its owner's others.
    package init(requests: [BatchRequest], owner: Int32, leaseToken: Int64) {
        self.requests = requests
        self.owner = owner
        self.leaseToken = leaseToken
    }

    package func bind(to binds: inout PostgresBinds) {
        ClaimSQL.bind(requests, owner: owner, leaseToken: leaseToken, to: &binds)
        binds.append(requests.map(\.gate))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> ClaimedBatch {
        try ClaimSQL.decode(row)
    }
}
