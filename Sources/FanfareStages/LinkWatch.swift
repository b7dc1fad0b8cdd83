internal import PostgresClient

/// Tells a long statement from a dead link: who waits for an answer while the server is not at work for it waits in vain.
package struct LinkWatch {
    /// After how long somebody is asked about.
    package static let patience = Duration.seconds(5)

    private var suspects: Set<OpenSessions.Waiting> = []

    /// Suspects nobody yet.
    package init() {}

    /// Takes a look in.
    ///
    /// - Parameters:
    ///   - waiting: who has waited long.
    ///   - atWork: for whom the server is at work.
    /// - Returns: who waits in vain. Not at the first look: the answer may be on its way.
    package mutating func check(_ waiting: [OpenSessions.Waiting], atWork: Set<Int32>) -> [OpenSessions.Waiting] {
        let idle = waiting.filter { !atWork.contains($0.backendPID) }
        defer { suspects = Set(idle) }
        return idle.filter(suspects.contains)
    }
}
