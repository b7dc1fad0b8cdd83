/// What may be written to where a command's output goes.
public struct TerminalStyle: Sendable, Equatable {
    /// Whether somebody looks at it.
    public let isTerminal: Bool
    /// Whether it obeys escape sequences: to clear it, for example.
    public let obeysEscapes: Bool
    /// Whether colours are wanted, too: `NO_COLOR` with any text in it says no (no-color.org).
    public let isColoured: Bool

    /// Judges by the environment.
    ///
    /// - Parameters:
    ///   - isTerminal: whether the output is one.
    ///   - environment: variables of the process; without `TERM`, or where that is `dumb`, no escape is written.
    public init(isTerminal: Bool, environment: [String: String]) {
        self.isTerminal = isTerminal
        obeysEscapes = isTerminal && !["", "dumb"].contains(environment["TERM"] ?? "")
        isColoured = obeysEscapes && (environment["NO_COLOR"] ?? "").isEmpty
    }
}
