package import PostgresClient

extension PostgresConnection {
    /// Sets until the session's end; for settings of our own, whose values need no quoting.
    package func set(_ settings: SessionSettings) throws(PostgresError) {
        try execute(settings.sql("SET"))
    }

    /// Sets until the transaction's end.
    package func setLocally(_ settings: SessionSettings) throws(PostgresError) {
        try execute(settings.sql("SET LOCAL"))
    }

    /// Asks whether the server is there.
    package func ping() throws(PostgresError) {
        try execute("SELECT")
    }
}

extension SessionSettings {
    fileprivate func sql(_ command: String) -> String {
        pairs.map { "\(command) \($0.name) = '\($0.value)'" }.joined(separator: ";")
    }
}
