package import PostgresClient

/// Reads the names of the apps that have quiet hours.
package struct LiveQuiet: PostgresStatement {
    package static let name = "live_quiet"
    package static let sql = """
        SELECT a.name FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id WHERE p.quiet_from IS NOT NULL
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}
