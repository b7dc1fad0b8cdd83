internal import FanfareStore
internal import PostgresClient

/// A session that runs only queries written by authors of rules; the state that a query leaves behind is discarded.
///
/// It is opened when it is first needed. An instance is used by one thread.
final class AuthorSession {
    private let options: PostgresOptions
    private var connection: PostgresConnection?

    /// - Parameter options: the connection options.
    init(_ options: PostgresOptions) {
        self.options = options
    }

    /// Runs a query.
    ///
    /// - Parameter work: the query, which begins its own transaction.
    /// - Returns: the result of `work`.
    /// - Throws: the error of `work`. The session is then reset, or will be opened again.
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

    /// Closes the session, if it is open.
    func close() {
        connection?.close()
        connection = nil
    }

    /// Resets the session after a failed query; returns whether that succeeded.
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
