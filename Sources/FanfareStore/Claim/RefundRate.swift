package import PostgresClient

/// Gives back to a gate's rate what was charged for pairs that no request was made for.
package struct RefundRate: PostgresStatement {
    package static let name = "refund_rate"
    package static let sql = """
        UPDATE fanfare.rates AS r
        SET next_free = r.next_free - $2::bigint / \(RateSQL.perSecond("r", at: "clock_timestamp()")) * interval '1 second'
        FROM fanfare.gates AS g WHERE g.id = $1 AND r.id = g.rate_id
        """

    package let gate: Int32
    package let pairs: Int64

    package init(gate: Int32, pairs: Int) {
        self.gate = gate
        self.pairs = Int64(pairs)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(gate)
        binds.append(pairs)
    }
}
