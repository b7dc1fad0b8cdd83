package import PostgresClient
internal import Threading

/// The sessions that stages have open, so that one of them can find out for all that the database is silent.
package final class OpenSessions: Sendable {
    /// One that has waited for an answer for some time.
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

    /// A session has a connection, in place of the one before.
    package func opened(_ session: Session, _ connection: PostgresConnection) {
        let id = ObjectIdentifier(session)
        let entry = Entry(stage: session.stage, backendPID: connection.backendPID, watch: connection.watch)
        entries.withLock { $0[id] = entry }
    }

    /// A session has none.
    package func closed(_ session: Session) {
        let id = ObjectIdentifier(session)
        entries.withLock { $0[id] = nil }
    }

    /// Who waits for an answer, and has for some time.
    package func waiting(longerThan patience: Duration) -> [Waiting] {
        let now = ContinuousClock.now
        return entries.withLock { Array($0.values) }.compactMap { entry in
            guard let since = entry.watch.waitingSince, now - since >= patience else { return nil }
            return Waiting(backendPID: entry.backendPID, since: since)
        }
    }

    /// Gives a connection up, if it still waits for the same answer.
    package func abandon(_ waiting: Waiting) {
        let entries = entries.withLock { Array($0.values) }
        for entry in entries
        where entry.backendPID == waiting.backendPID && entry.watch.waitingSince == waiting.since {
            entry.watch.abandon()
        }
    }

    /// Gives all connections up without asking the server: who waits for an answer stops waiting, who does not finds it out
    /// with the next statement, and each opens another one.
    ///
    /// - Parameter spared: the stage whose sessions are left alone, if any.
    /// - Returns: how many there were.
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
