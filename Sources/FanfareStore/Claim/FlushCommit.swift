internal import PostgresClient

/// Makes the commit of the current transaction wait for the disk.
package struct FlushCommit: PostgresStatement {
    package static let name = "flush_commit"
    package static let sql = "SELECT FROM set_config('synchronous_commit', 'on', true)"

    package init() {}

    package typealias Row = Void
}
