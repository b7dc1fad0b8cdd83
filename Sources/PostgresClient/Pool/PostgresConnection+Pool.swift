internal import CPostgres

/// The checks of a pool on its connections, between the work of two callers.
extension PostgresConnection {
    /// Returns a canceller for this session; nil if the connection is closed.
    public func canceller() -> PostgresCanceller? {
        guard let handle = try? unsafe requireHandle(), let pointer = unsafe PQgetCancel(handle) else { return nil }
        return unsafe PostgresCanceller(owning: pointer)
    }

    /// Whether the server has not ended the session, as far as this side has received; sends nothing.
    ///
    /// Notifications that have arrived are dropped.
    func isStillThere() -> Bool {
        // When the server ends an idle session, libpq reports its message as a notice.
        var hasEnded = false
        noticeHandler = { notice in
            if ["FATAL", "PANIC"].contains(notice.severity) { hasEnded = true }
        }
        defer { noticeHandler = nil }
        do {
            while try !notifications(timeout: .zero).isEmpty {}
            return !hasEnded
        } catch {
            return false
        }
    }

    /// Prepares the session for the next caller: rolls back a transaction that was left open.
    ///
    /// - Returns: whether the session can be used again, and whether there was such a transaction.
    func tidyUp() -> (isUsable: Bool, hadTransaction: Bool) {
        noticeHandler = nil
        let hadTransaction = isInTransaction
        rollback()
        guard let handle = try? unsafe requireHandle() else { return (false, hadTransaction) }
        guard unsafe PQstatus(handle) == CONNECTION_OK, unsafe PQtransactionStatus(handle) == PQTRANS_IDLE else {
            close()
            return (false, hadTransaction)
        }
        return (true, hadTransaction)
    }
}
