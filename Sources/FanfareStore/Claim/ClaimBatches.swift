package import FanfareCore
package import PostgresClient

/// How many batches a claim may take from one of a target's queues, behind one gate.
package struct BatchRequest: Hashable {
    /// The gate; 0 for none.
    package var gate: Int32
    package var target: Int16
    package var queue: SendQueue
    /// The same for all gates of a queue: neither a single gate nor all together may take more than the queue has room
    /// for.
    package var count: Int32
    /// The due time from which batches are searched: before it there are only dead index entries (``ClaimFloors``).
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
/// After a daemon has lost its control session, it can claim a batch again under a new owner number while requests of
/// its own earlier claim are still awaited.
package struct BatchClaim: Hashable, Comparable, Sendable {
    package let batchID: Int64
    package let leaseToken: Int64

    package static func < (left: BatchClaim, right: BatchClaim) -> Bool {
        (left.batchID, left.leaseToken) < (right.batchID, right.leaseToken)
    }
}

/// A batch as its row was when it was claimed.
package struct ClaimedBatch: Equatable {
    package let id: Int64
    package let leaseToken: Int64
    package let target: Int16
    /// The queue that it was claimed from.
    package let queue: SendQueue
    /// The gate it waited behind; 0 for none.
    package let gate: Int32
    package let ruleVersion: Int32
    package let attempt: Int16
    /// The earlier attempts of these deliveries.
    package let history: RetryHistory
    /// The event of a broadcast; nil if the deliveries have different ones.
    package let eventID: Int64?
    package let eventIDs: [Int64]
    package let deviceIDs: [Int64]
    /// The outcomes that another daemon recorded before; empty if there are none.
    package let outcomes: [UInt8]
    package let notBefore: Timestamp
    /// When its deliveries' ttl begins; nil if it begins when their events were emitted.
    package let dueAt: Timestamp?
    /// When it was claimed, in database time.
    package let claimedAt: Timestamp

    /// Whether its deliveries were tried or held before.
    package var wasTried: Bool { history.attempts > 0 || history.waits > 0 }

    /// The lane of its queue.
    package var lane: Int16 { queue.lane.rawValue }

    /// The identity of this claim.
    package var claim: BatchClaim { BatchClaim(batchID: id, leaseToken: leaseToken) }

    /// Returns the event of one delivery.
    package func eventID(at position: Int) -> Int64 {
        eventID ?? eventIDs[position]
    }
}

/// Claims batches that are due and behind no gate, for one owner; no transaction stays open while they are sent.
///
/// A rescued batch continues after its checkpoint, hence `outcomes`.
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

    /// Creates a claim.
    ///
    /// - Parameters:
    ///   - requests: the queues and the number of batches; none behind a gate.
    ///   - owner: the owner of the claimed batches.
    ///   - leaseToken: distinguishes this claim from the owner's others.
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

/// Claims batches that are due, including those behind open gates; otherwise as ``ClaimBatches``, which is cheaper.
///
/// It checks here whether a gate is open, since the claimer's knowledge may be half a second old. Batches behind a gate
/// that is paused by now, or that has a rate by now (``ClaimPaced``), are not claimed. All gates of a queue share its
/// room, and batches that were due first are claimed first.
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

    /// Creates a claim.
    ///
    /// - Parameters:
    ///   - requests: the queues and the number of batches.
    ///   - owner: the owner of the claimed batches.
    ///   - leaseToken: distinguishes this claim from the owner's others.
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
