/// Standard input as an argument, in place of a file or a payload.
public enum StandardInput {
    /// The argument for standard input.
    public static let argument = "-"
    /// The name in messages.
    package static let name = "standard input"
}
