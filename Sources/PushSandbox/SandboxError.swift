/// The reason why a sandbox could not start or could not perform a request.
public struct SandboxError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Equatable {
        /// An option has an invalid value.
        case invalidOption
        /// A file of the folder cannot be read, written or parsed.
        case folder
        /// A port cannot be opened.
        case listen
        /// A list of faults is malformed.
        case malformedFaults
        /// A sandbox in sink mode was asked for its ledger.
        case noLedger
    }

    /// The kind of failure.
    public let code: Code
    /// The error, its place, and the fix; never holds a key, token or payload.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
