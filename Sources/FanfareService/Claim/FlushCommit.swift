internal import PostgresClient

/// Makes the commit of the current transaction wait until it is on the disk.
struct FlushCommit: PostgresStatement {
    static let name = "flush_commit"
    static let sql = "SELECT FROM set_config('synchronous_commit', 'on', true)"

    typealias Row = Void
}
