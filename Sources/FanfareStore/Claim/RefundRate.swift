package import PostgresClient

/// Gives back to rates what was charged for deliveries that no request was made for.
package struct RefundRate: PostgresStatement {
    package static let name = "refund_rate"
    package static let sql = """
        WITH locked AS MATERIALIZED (
            SELECT r.id FROM fanfare.rates AS r
            WHERE r.id = ANY (ARRAY(
                SELECT g.rate_id FROM fanfare.gates AS g WHERE g.id = $1
                UNION ALL
                SELECT id FROM unnest($3::int[]) AS id))
            ORDER BY r.id FOR NO KEY UPDATE
        )
        UPDATE fanfare.rates AS r
        SET next_free = r.next_free - $2::bigint / \(RateSQL.perSecond("r", at: "clock_timestamp()")) * interval '1 second'
        FROM locked AS l WHERE r.id = l.id
        """

    package let gate: Int32
    package let rates: [Int32]
    package let deliveries: Int64

    /// Gives back.
    ///
    /// - Parameters:
    ///   - gate: the gate that the deliveries waited behind; 0 for none.
    ///   - rates: those that were charged besides the gate's.
    ///   - deliveries: how many deliveries.
    package init(gate: Int32, rates: [Int32] = [], deliveries: Int) {
        self.gate = gate
        self.rates = rates
        self.deliveries = Int64(deliveries)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(gate)
        binds.append(deliveries)
        binds.append(rates)
    }
}
