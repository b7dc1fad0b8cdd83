package import PostgresClient

extension PostgresError {
    /// Whether the statement's data made it fail, so that the same data would fail again: what alone may cost an event.
    ///
    /// Classes 22 (data), 23 (constraints) and 54 (limits). A table that is missing or has changed, a broken disk: whatever
    /// else the server says hits every event, and none any more once it is mended. Of a time-out (57014), which may be a
    /// jsonpath that is a bomb or a machine that is slow, the caller decides: ``PostgresError/isCancelled``.
    package var isDataError: Bool {
        code == .server && ["22", "23", "54"].contains(sqlState?.prefix(2))
    }

    /// Whether the server ended the session because a transaction was left idle for too long: what was done between its statements
    /// took that time.
    package var isIdleInTransaction: Bool { sqlState == "25P03" }
}
