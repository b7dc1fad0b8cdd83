package import PostgresClient
internal import Threading

/// The open sessions of all stages, so that one stage can abandon the others' when the database does not respond.
package final class OpenSessions: Sendable {
    /// A session that has been waiting for an answer.
    package struct Waiting: Hashable, Sendable {
        package let backendPID: Int32
        package let since: ContinuousClock.Instant
    }

    private struct Entry: Sendable {
        let stage: String
        let backendPID: Int32
        let watch: PostgresWatch
    }

    private let entries = Locked<[ObjectIdentifier: Entry]>([:])

    /// Registers a session's new connection, in place of the previous one.
    package func opened(_ session: Session, _ connection: PostgresConnection) {
        let id = ObjectIdentifier(session)
        let entry = Entry(stage: session.stage, backendPID: connection.backendPID, watch: connection.watch)
        entries.withLock { $0[id] = entry }
    }

    /// Removes a session without a connection.
    package func closed(_ session: Session) {
        let id = ObjectIdentifier(session)
        entries.withLock { $0[id] = nil }
    }

    /// Returns the sessions that have waited for an answer for at least the given time.
    package func waiting(longerThan patience: Duration) -> [Waiting] {
        let now = ContinuousClock.now
        return entries.withLock { Array($0.values) }.compactMap { entry in
            guard let since = entry.watch.waitingSince, now - since >= patience else { return nil }
            return Waiting(backendPID: entry.backendPID, since: since)
        }
    }

    /// Abandons a session's connection if it still waits for the same answer.
    package func abandon(_ waiting: Waiting) {
        let entries = entries.withLock { Array($0.values) }
        for entry in entries
        where entry.backendPID == waiting.backendPID && entry.watch.waitingSince == waiting.since {
            entry.watch.abandon()
        }
    }

    /// Abandons all connections without asking the server.
    ///
    /// A session that waits for an answer fails at once, any other with its next statement. Each then opens a new
    /// connection.
    ///
    /// - Parameter spared: the stage whose sessions are left alone, if any.
    /// - Returns: the number of abandoned connections.
    @discardableResult
    package func abandonAll(sparing spared: String? = nil) -> Int {
        let open = entries.withLock { entries in
            let given = entries.filter { $0.value.stage != spared }
            for id in given.keys { entries[id] = nil }
            return given.values
        }
        for entry in open { entry.watch.abandon() }
        return open.count
    }
}
