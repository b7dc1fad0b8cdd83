internal import PostgresClient

/// Tells a long statement from a dead connection: a session whose backend is idle on the server waits for a lost answer.
package struct LinkWatch {
    /// How long a session waits before the server is asked about it.
    package static let patience = Duration.seconds(5)

    private var suspects: Set<OpenSessions.Waiting> = []

    /// Creates a watch without suspects.
    package init() {}

    /// Returns the sessions that wait for an answer that will not come.
    ///
    /// A session is reported at the second check in a row, because after the first one its answer may be on the way.
    ///
    /// - Parameters:
    ///   - waiting: the sessions that have waited long.
    ///   - atWork: the process ids of the backends that are active on the server.
    /// - Returns: the sessions to abandon.
    package mutating func check(_ waiting: [OpenSessions.Waiting], atWork: Set<Int32>) -> [OpenSessions.Waiting] {
        let idle = waiting.filter { !atWork.contains($0.backendPID) }
        defer { suspects = Set(idle) }
        return idle.filter(suspects.contains)
    }
}
