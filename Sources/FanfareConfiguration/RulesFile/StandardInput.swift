/// What `-` in place of a file or a payload means to a command.
public enum StandardInput {
    /// The argument that stands for it.
    public static let argument = "-"
    /// What messages call it.
    package static let name = "standard input"
}
