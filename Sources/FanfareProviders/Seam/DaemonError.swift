/// Why the daemon cannot start, and how to fix it.
public struct DaemonError: Error, Sendable, CustomStringConvertible {
    /// The kind of error; determines the exit code.
    public enum Kind: Sendable {
        /// The configuration, a key file, or a database that belongs to another installation.
        case configuration
        /// The database cannot be reached.
        case unavailable
    }

    /// The kind of error.
    public let kind: Kind
    /// The error.
    public let reason: String
    /// How to fix the error.
    public let hint: String

    package init(_ kind: Kind, _ reason: String, hint: String) {
        self.kind = kind
        self.reason = reason
        self.hint = hint
    }

    /// Reason and hint; holds no secret.
    public var description: String { "\(reason). \(hint)" }
}
