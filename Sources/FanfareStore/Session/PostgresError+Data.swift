package import PostgresClient

extension PostgresError {
    /// Whether the statement failed because of its data, so that the same data would fail again; only such an error may
    /// cost an event.
    ///
    /// These are the classes 22 (data), 23 (constraints) and 54 (limits). Other errors, such as a missing or altered
    /// table or a broken disk, affect every event, and none once they are fixed. For a timeout (57014), which may come
    /// from a jsonpath bomb or from a slow machine, the caller decides: ``PostgresError/isCancelled``.
    package var isDataError: Bool {
        code == .server && ["22", "23", "54"].contains(sqlState?.prefix(2))
    }

    /// Whether the server ended the session because a transaction was idle for too long: the client took that time
    /// between two statements.
    package var isIdleInTransaction: Bool { sqlState == "25P03" }
}
