internal import CPostgres

/// What a pool asks of its connections, between the works of two callers.
extension PostgresConnection {
    /// What reaches the server beside this connection; nil if it is closed.
    public func canceller() -> PostgresCanceller? {
        guard let handle = try? unsafe requireHandle(), let pointer = unsafe PQgetCancel(handle) else { return nil }
        return unsafe PostgresCanceller(owning: pointer)
    }

    /// Whether the server has not ended the session, as far as has been heard on this side; sends nothing.
    ///
    /// Notifications that came are dropped.
    func isStillThere() -> Bool {
        // A session that is ended while it is idle says so in what libpq takes for a notice.
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

    /// Makes the session fit for the next caller: a transaction that was left open is rolled back.
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
