/// The reason why a private cluster cannot be used.
public struct ClusterError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for callers to branch on.
    public let code: Code
    /// What happened, in one line.
    public let message: String
    /// How to fix it, if known.
    public let hint: String?

    init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// Kinds of failure; more may be added.
    public struct Code: Sendable, Hashable {
        private enum Kind {
            case noServerBinaries, directoryInUse, cannotPrepare, cannotStart
        }

        private let kind: Kind

        /// No PostgreSQL server programs of a usable version are installed.
        public static let noServerBinaries = Code(kind: .noServerBinaries)
        /// Another process runs the cluster of this directory.
        public static let directoryInUse = Code(kind: .directoryInUse)
        /// A directory or a user account for the server could not be set up.
        public static let cannotPrepare = Code(kind: .cannotPrepare)
        /// The server did not start.
        public static let cannotStart = Code(kind: .cannotStart)
    }

    /// What happened and how to fix it.
    public var description: String {
        "private PostgreSQL cluster: " + message + (hint.map { " Hint: " + $0 } ?? "")
    }
}
