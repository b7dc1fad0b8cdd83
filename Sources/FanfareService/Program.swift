/// The program as a whole.
public enum Program {
    /// The version, as shown by `fanfare version` and the log.
    public static let version = "0.1.0"
}
