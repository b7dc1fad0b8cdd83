package import PostgresClient

/// Refunds to rates what was charged for deliveries that were not sent.
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

    /// Creates a refund.
    ///
    /// - Parameters:
    ///   - gate: the gate that the deliveries waited behind; 0 for none.
    ///   - rates: the rates that were charged besides the gate's.
    ///   - deliveries: the number of deliveries.
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
