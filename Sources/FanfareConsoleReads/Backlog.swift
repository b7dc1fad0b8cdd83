package import FanfareRecords
internal import PostgresClient

/// The sum of several rows of the backlog.
package struct Backlog: Sendable {
    package let target: String
    package let lane: Int16
    /// The estimated number of due deliveries.
    package let ready: Int64
    /// The estimated number of deliveries that are not yet due.
    package let waiting: Int64
    /// The estimated number of deliveries behind a campaign's gate.
    package let gated: Int64
    /// Whether the backlog is larger than the part that was read.
    package let isMore: Bool
    /// The planning time of the oldest due batch, in microseconds since 1970; nil for none.
    package let oldest: Int64?
    /// Whether every due batch waits behind a gate: for a campaign's pace, or for the end of a pause.
    package let isHeld: Bool

    /// Sums the rows.
    ///
    /// - Parameter rows: the rows of one target and lane, or all rows.
    package init(_ rows: [BacklogRow]) {
        let due = rows.filter { $0.dueBatches > 0 }
        ready = rows.reduce(0) { $0 + Self.ready($1) }
        waiting = rows.reduce(0) { $0 + $1.deliveries - Self.ready($1) }
        gated = rows.filter { $0.gateID != 0 }.reduce(0) { $0 + $1.deliveries }
        isMore = rows.contains(where: \.isMore)
        oldest = due.map(\.oldest.microseconds).min()
        isHeld = !due.contains { $0.gateID == 0 }
        lane = rows.first?.lane ?? 0
        let first = rows.first
        let environment = first.map { $0.environment == "production" ? "" : " \($0.environment)" } ?? ""
        target = first.map { "\($0.app) \($0.provider)\(environment)" } ?? ""
    }

    /// Returns the due deliveries of a row, estimated from its share of due batches.
    private static func ready(_ row: BacklogRow) -> Int64 {
        guard row.batches > 0 else { return 0 }
        return row.dueBatches >= row.batches ? row.deliveries : row.deliveries / row.batches * row.dueBatches
    }
}
