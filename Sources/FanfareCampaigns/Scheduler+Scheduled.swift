internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

extension Scheduler {
    /// The most events that one transaction emits.
    private static let portion: Int32 = 1000
    /// How many portions are emitted before campaigns are checked again.
    private static let portions = 20

    /// Emits the scheduled events that are due.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time; only for the wait, since the statement takes the time itself.
    /// - Returns: the time until the next event is due, in microseconds, at most one second.
    /// - Throws: errors of the server.
    func emitScheduled(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Microseconds {
        try repeatWhileDue(SQL.nextScheduled(), at: now, atMost: Self.portions, on: connection) {
            connection throws(PostgresError) in
            let emitted = try connection.run(SQL.emitScheduled(Self.portion)).first ?? 0
            // The due rows are locked: another daemon emits them, or a transaction moves or cancels them.
            guard emitted > 0 else { return false }
            context.logger.debug("scheduled events were emitted", metadata: .init([.count: "\(emitted)"]))
            return true
        }
    }
}
