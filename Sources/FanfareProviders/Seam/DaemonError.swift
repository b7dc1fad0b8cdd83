/// Why the daemon cannot start, and how to fix it.
public struct DaemonError: Error, Sendable, CustomStringConvertible {
    /// Whose fault it is; decides the exit code.
    public enum Kind: Sendable {
        /// The configuration, a key file, or a database that belongs to another installation.
        case configuration
        /// The database cannot be reached.
        case unavailable
    }

    /// Whose fault it is.
    public let kind: Kind
    /// What is wrong.
    public let reason: String
    /// How to fix it.
    public let hint: String

    package init(_ kind: Kind, _ reason: String, hint: String) {
        self.kind = kind
        self.reason = reason
        self.hint = hint
    }

    /// What is wrong and how to fix it; holds no secret.
    public var description: String { "\(reason). \(hint)" }
}
