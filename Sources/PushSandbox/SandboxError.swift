/// Why a sandbox could not start or could not do what was asked.
public struct SandboxError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Sendable, Equatable {
        /// An option has a value that cannot work.
        case invalidOption
        /// A file of the folder cannot be read, written or understood.
        case folder
        /// A port cannot be listened on.
        case listen
        /// A list of faults is malformed.
        case malformedFaults
        /// A sandbox in sink mode was asked for its ledger.
        case noLedger
    }

    /// What kind of failure it is.
    public let code: Code
    /// What went wrong, where, and how to fix it; never holds a key, token or payload.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
