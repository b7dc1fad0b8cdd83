/// The program as a whole.
public enum Program {
    /// Its version, as `fanfare version` and the log say it.
    public static let version = "0.1.0"
}
