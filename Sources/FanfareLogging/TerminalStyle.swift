/// The escapes that a command may write to its output.
public struct TerminalStyle: Sendable, Equatable {
    /// Whether the output is a terminal.
    public let isTerminal: Bool
    /// Whether the terminal interprets escape sequences, for example to clear the screen.
    public let obeysEscapes: Bool
    /// Whether output is coloured; a `NO_COLOR` that is not empty turns colours off (no-color.org).
    public let isColoured: Bool

    /// Determines the style from the environment.
    ///
    /// - Parameters:
    ///   - isTerminal: whether the output is a terminal.
    ///   - environment: variables of the process; if `TERM` is missing or `dumb`, no escapes are written.
    public init(isTerminal: Bool, environment: [String: String]) {
        self.isTerminal = isTerminal
        obeysEscapes = isTerminal && !["", "dumb"].contains(environment["TERM"] ?? "")
        isColoured = obeysEscapes && (environment["NO_COLOR"] ?? "").isEmpty
    }
}
