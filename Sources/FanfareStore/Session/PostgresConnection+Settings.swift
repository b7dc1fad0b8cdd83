package import PostgresClient

extension PostgresConnection {
    /// Applies settings until the session ends; only for Fanfare's own settings, whose values need no quoting.
    package func set(_ settings: SessionSettings) throws(PostgresError) {
        try execute(settings.sql("SET"))
    }

    /// Applies settings until the transaction ends.
    package func setLocally(_ settings: SessionSettings) throws(PostgresError) {
        try execute(settings.sql("SET LOCAL"))
    }

    /// Checks that the server responds.
    package func ping() throws(PostgresError) {
        try execute("SELECT")
    }
}

extension SessionSettings {
    fileprivate func sql(_ command: String) -> String {
        pairs.map { "\(command) \($0.name) = '\($0.value)'" }.joined(separator: ";")
    }
}
