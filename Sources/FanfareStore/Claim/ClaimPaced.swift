package import FanfareCore
package import PostgresClient

/// Claims batches that are due and have rates, their gate's or their targets': at most what all daemons together may
/// claim by now.
///
/// Each claim locks the rates, reads the time, and charges what it takes to each of them, which is at most what the
/// lowest of them allows. So no two claims use the same allowance, on any daemon. Unused allowance is kept for a fifth
/// of a second, so that a claimer that is a little late loses none. A batch larger than the allowance is claimed once a
/// tenth of a second's worth is available, and leaves a debt.
///
/// It checks here whether the gate is open and has a rate, as ``ClaimGated`` does.
package struct ClaimPaced: PostgresStatement {
    package static let name = "claim_paced"
    package static let sql = """
        WITH
        -- 1. Whoever charged them before us has committed.
        locked AS MATERIALIZED (
            SELECT r.* FROM fanfare.rates AS r
            WHERE r.id = ANY (ARRAY(
                SELECT g.rate_id FROM fanfare.gates AS g WHERE g.id = $8
                UNION ALL
                SELECT id FROM unnest($10::int[]) AS id))
                AND \(QueueSQL.isOpen("$8"))
            -- As all do who lock several, or two would wait for each other.
            ORDER BY r.id FOR NO KEY UPDATE
        ),
        -- 2. The time is read after the lock, hence LATERAL and a condition on the row: the statement's own may be older than another
        --    claimer's charge. Who owes more than any batch can cost had its clock put back.
        free AS MATERIALIZED (
            SELECT l.id, \(RateSQL.perSecond("l", at: "t.now")) AS per_second, t.now,
                CASE WHEN l.next_free > t.now + interval '20 minutes' THEN t.now
                    ELSE greatest(l.next_free, t.now - \(RateSQL.credit)) END AS next_free
            FROM locked AS l
            CROSS JOIN LATERAL (SELECT coalesce($9::timestamptz, clock_timestamp()) AS now WHERE l.id IS NOT NULL OFFSET 0) AS t
        ),
        budget AS MATERIALIZED (
            SELECT max(now) AS now, min(extract(epoch FROM now - next_free)::float8 * per_second) AS deliveries,
                \(RateSQL.portion("min(per_second)")) AS portion
            FROM free
        ),
        -- 3. What is due, retries first.
        ready AS MATERIALIZED (
            SELECT b.id, b.size, row_number() OVER o AS place, sum(b.size) OVER o AS upto
            FROM unnest($3::smallint[], $4::smallint[], $5::boolean[], $6::int[], $7::timestamptz[])
                AS w (target_id, lane, is_retry, n, floor)
            CROSS JOIN LATERAL (
                SELECT x.id, x.not_before, cardinality(x.device_ids) AS size FROM fanfare.batches AS x
                WHERE \(QueueSQL.waits("x", gate: "$8", target: "w.target_id", lane: "w.lane", isRetry: "w.is_retry"))
                    AND x.not_before >= w.floor AND x.not_before <= (SELECT now FROM budget)
                ORDER BY x.not_before, x.id LIMIT w.n
                FOR UPDATE SKIP LOCKED
            ) AS b
            WHERE (SELECT deliveries > 0 FROM budget)
            WINDOW o AS (ORDER BY w.is_retry DESC, b.not_before, b.id)
        ),
        picked AS MATERIALIZED (
            SELECT r.id, r.size FROM ready AS r CROSS JOIN budget AS b
            WHERE r.upto <= b.deliveries OR (r.place = 1 AND b.deliveries >= least(r.size, b.portion))
        ),
        charged AS (
            UPDATE fanfare.rates AS r
            SET next_free = f.next_free + (SELECT sum(size) FROM picked) / f.per_second * interval '1 second'
            FROM free AS f
            WHERE r.id = f.id AND EXISTS (SELECT FROM picked)
        ),
        taken AS (
            \(ClaimSQL.take(and: ""))
        ),
        -- 4. When the next of what is due can go, and not one small batch after the other; where all of it went, there may be more.
        again AS (
            SELECT max(f.next_free + (p.size + least(CASE WHEN b.deliveries > 0 THEN l.size ELSE b.portion END, b.portion))
                / f.per_second * interval '1 second' - f.now) AS wait
            FROM free AS f
            CROSS JOIN budget AS b
            CROSS JOIN (SELECT coalesce(sum(size), 0) AS size FROM picked) AS p
            CROSS JOIN (
                SELECT coalesce(sum(size), 0) AS size FROM ready WHERE id NOT IN (SELECT id FROM picked)
            ) AS l
            WHERE b.deliveries <= 0 OR EXISTS (SELECT FROM ready)
        )
        SELECT (extract(epoch FROM a.wait) * 1000000)::bigint, t.* FROM again AS a LEFT JOIN taken AS t ON true
        """

    package let requests: [BatchRequest]
    package let gate: Int32
    package let rates: [Int32]
    package let owner: Int32
    package let leaseToken: Int64
    package let now: Timestamp?

    /// Creates a claim.
    ///
    /// - Parameters:
    ///   - gate: the gate of all requests; 0 for none.
    ///   - rates: the rates that all their targets have, besides the gate's.
    ///   - requests: the queues and the number of batches.
    ///   - owner: the owner of the claimed batches.
    ///   - leaseToken: distinguishes this claim from the owner's others.
    ///   - now: the time once the rates are locked; nil for the database's clock.
    package init(
        gate: Int32,
        rates: [Int32] = [],
        requests: [BatchRequest],
        owner: Int32,
        leaseToken: Int64,
        now: Timestamp? = nil
    ) {
        self.gate = gate
        self.rates = rates
        self.requests = requests
        self.owner = owner
        self.leaseToken = leaseToken
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        ClaimSQL.bind(requests, owner: owner, leaseToken: leaseToken, to: &binds)
        binds.append(gate)
        binds.append(now)
        binds.append(rates)
    }

    /// A claimed batch, and when to claim again; at least one row.
    package struct Row {
        /// The microseconds until the next due batch can be claimed; in the past, or nil if none is due, or may be
        /// claimed.
        package let wait: Microseconds?
        /// The batch; nil in the only row of a claim that took nothing.
        package let batch: ClaimedBatch?
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(wait: try row.int64(orNil: 0), batch: try row.int64(orNil: 1) == nil ? nil : ClaimSQL.decode(row, from: 1))
    }
}
