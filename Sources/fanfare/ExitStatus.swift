import FanfareService
import FanfareTools
import UnixSignals

/// The meanings of the program's exit codes; the documentation and the manual list the same.
enum ExitStatus {
    /// Each code with its meaning.
    static let meanings: [(code: Int32, meaning: String)] = [
        (0, "Success."),
        (ToolError.Kind.failed.rawValue, "It failed, or a check found a problem."),
        (ToolError.Kind.usage.rawValue, "The command line is invalid."),
        (ToolError.Kind.unavailable.rawValue, "The database is unreachable, or a port is in use."),
        (
            ToolError.Kind.configuration.rawValue,
            "The configuration, a key file, the schema, or a database that is another installation's."
        ),
        (interrupted, "Stopped at once by INT; pushes in flight may be sent again."),
        (terminated, "Stopped at once by a second TERM; pushes in flight may be sent again."),
    ]

    /// The exit code after SIGINT: 128 plus the signal's number, as in shells.
    static let interrupted: Int32 = 130
    /// The exit code after a second SIGTERM; the first one drains.
    static let terminated: Int32 = 143

    /// Returns the exit code of a daemon that was stopped at once.
    ///
    /// - Parameter signal: the signal that demanded it; nil if draining took too long.
    /// - Returns: the exit code.
    static func stopped(by signal: UnixSignal?) -> Int32 {
        switch signal {
        case .sigint: interrupted
        case .sigterm: terminated
        default: ToolError.Kind.failed.rawValue
        }
    }
}
