package import PostgresClient

extension SQL {
    /// Reads the names of the apps that have quiet hours.
    package static let liveQuiet = Statement<String>(
        "live_quiet",
        """
        SELECT a.name FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id WHERE p.quiet_from IS NOT NULL
        """
    )
}
