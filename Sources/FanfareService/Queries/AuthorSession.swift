internal import FanfareStore
internal import PostgresClient

/// A session for queries that authors of rules wrote, and for nothing else: whatever one of them leaves behind is discarded.
///
/// Opened when it is first needed. Used by one thread.
final class AuthorSession {
    private let options: PostgresOptions
    private var connection: PostgresConnection?

    /// - Parameter options: how to connect.
    init(_ options: PostgresOptions) {
        self.options = options
    }

    /// Runs a query.
    ///
    /// - Parameter work: in a transaction of its own, which it begins.
    /// - Returns: what it returns.
    /// - Throws: what it throws. The session is as new then, or will be opened anew.
    func run<Result>(
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        do throws(PostgresError) {
            let connection = try opened()
            let result = try work(connection)
            try connection.startAnew()
            return result
        } catch {
            if !isUsable() { close() }
            throw error
        }
    }

    /// Closes it, if it is open.
    func close() {
        connection?.close()
        connection = nil
    }

    /// Whether it is as new after a query that failed.
    private func isUsable() -> Bool {
        guard let connection, !connection.isClosed else { return false }
        do throws(PostgresError) {
            try connection.startAnew()
            return true
        } catch {
            return false
        }
    }

    private func opened() throws(PostgresError) -> PostgresConnection {
        if let connection, !connection.isClosed { return connection }
        let fresh = try PostgresConnection.open(options)
        connection = fresh
        return fresh
    }
}
