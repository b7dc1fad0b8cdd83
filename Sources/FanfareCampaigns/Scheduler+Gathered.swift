internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

extension Scheduler {
    /// How many batches of digests are emitted before campaigns are checked again.
    private static let turns = 20

    /// Emits the digests that are due.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time.
    /// - Returns: the time until the next digest is due, in microseconds, at most one second.
    /// - Throws: errors of the server.
    func emitDigests(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Microseconds {
        try repeatWhileDue(SQL.nextOpenDigest(), at: now, atMost: Self.turns, on: connection) {
            connection throws(PostgresError) in
            let left = try connection.run(SQL.emitDigests(now))
            // If there are none, the due digests are locked: another daemon emits them, or a planner adds to them.
            for open_digests in left { tell(open_digests) }
            return !left.isEmpty
        }
    }

    private func tell(_ left: EmittedDigests) {
        let metadata = Logger.Metadata([.app: "\(left.app)", .ruleName: "\(left.rule)"])
        if left.emitted > 0 {
            context.logger.debug(
                "digests were emitted",
                metadata: metadata.merging(.init([.count: "\(left.emitted)"])) { $1 }
            )
        }
        if left.leftOut > 0 {
            context.logger.notice(
                "digests were dropped: their rule is dropped, or all their events were cancelled",
                metadata: metadata.merging(.init([.count: "\(left.leftOut)"])) { $1 }
            )
        }
    }
}
