internal import FanfareTools

/// What requests of the API share beside the server's sessions.
struct APIState: Sendable {
    let readiness: ReadinessCheck
    let figures: DaemonFigures
    let tail: TailHub

    /// Creates the state; nothing is read yet.
    ///
    /// - Parameters:
    ///   - database: the database to read.
    ///   - gate: the session that waits for no query.
    init(_ database: ToolDatabase, gate: ToolDatabase) {
        (readiness, figures, tail) = (ReadinessCheck(gate), DaemonFigures(database), TailHub(database))
    }
}
