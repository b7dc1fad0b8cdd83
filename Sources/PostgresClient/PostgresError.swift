/// An error of a connection, a statement or a pool.
///
/// `description` is safe to log: it never contains a bind value, DETAIL, or a password. `debugDescription` is complete.
public struct PostgresError: Error, Sendable {
    /// The kind of failure.
    public internal(set) var code: Code
    /// The server's five-character SQLSTATE; nil if the server sent none.
    public let sqlState: String?
    /// The primary message, in full; may quote data, so show it to the person who entered that data and log
    /// `description`.
    public let message: String
    /// How to fix it, if known; may quote data like `message`.
    public let hint: String?
    /// The server's DETAIL, which often quotes rows.
    public let detail: String?
    /// The name of the violated constraint.
    public let constraint: String?
    /// The name of the prepared statement that failed.
    public let statement: String?
    /// The server's CONTEXT: where in the SQL or in which function it happened; may quote data.
    public internal(set) var context = ""
    /// Whether the response timeout expired: the server, or the network path to it, is silent.
    public internal(set) var isUnanswered = false
    /// The file in this module that created the error, as `Module/File.swift`.
    public let fileID: String
    /// The line in `fileID`.
    public let line: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - sqlState: the server's SQLSTATE, if it sent one.
    ///   - message: the failure, in one line.
    ///   - hint: how to fix it.
    ///   - detail: text that must not reach a log.
    ///   - constraint: the violated constraint.
    ///   - statement: the prepared statement's name.
    ///   - fileID: the file of the caller.
    ///   - line: the line of the caller.
    public init(
        _ code: Code,
        sqlState: String? = nil,
        message: String,
        hint: String? = nil,
        detail: String? = nil,
        constraint: String? = nil,
        statement: String? = nil,
        fileID: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.sqlState = sqlState
        self.message = message
        self.hint = hint
        self.detail = detail
        self.constraint = constraint
        self.statement = statement
        self.fileID = fileID
        self.line = line
    }
}

extension PostgresError {
    /// Kinds of failure; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidOptions = "options cannot be used"
            case connectionFailed = "connection failed"
            case connectionLost = "connection lost"
            case server = "refused by the server"
            case protocolMismatch = "unexpected result"
            case cancelled = "cancelled"
            case wrongDatabase = "not the database to work on"
            case poolTimeout = "no session in time"
            case poolClosed = "no more sessions"
            case transactionLeftOpen = "a transaction was left open"
        }

        private let kind: Kind

        /// The options allow no connection: the URL cannot be parsed or used, or a password is missing.
        public static let invalidOptions = Code(kind: .invalidOptions)
        /// The connect failed: unreachable, refused, wrong password, no such database, too many connections, timeout.
        public static let connectionFailed = Code(kind: .connectionFailed)
        /// An open connection was lost; whether a statement in flight, or a COMMIT, took effect is unknown.
        public static let connectionLost = Code(kind: .connectionLost)
        /// The server answered with an error; `sqlState` says which.
        public static let server = Code(kind: .server)
        /// The answer is not the expected one: another column type than the decoder expects, an unexpected NULL, or an
        /// impossible message.
        public static let protocolMismatch = Code(kind: .protocolMismatch)
        /// A statement, or the wait for a connection, was cancelled on purpose or by `statement_timeout` (57014).
        public static let cancelled = Code(kind: .cancelled)

        /// The connection works but leads to an old primary (``PostgresTimelines``), or to a database that its user
        /// found to be one that it must not work on.
        public static let wrongDatabase = Code(kind: .wrongDatabase)
        /// All sessions of a pool were busy for as long as the caller would wait; nothing was sent.
        public static let poolTimeout = Code(kind: .poolTimeout)
        /// The pool is closed or closing; nothing was sent.
        public static let poolClosed = Code(kind: .poolClosed)
        /// Work on a pool's session returned without ending a transaction, which was rolled back.
        public static let transactionLeftOpen = Code(kind: .transactionLeftOpen)

        /// The kind in words.
        public var description: String { kind.rawValue }
    }

    /// Whether the connection is unusable: open another one.
    public var isConnectionLost: Bool { code == .connectionLost || code == .connectionFailed }

    /// Whether the server accepts no writes (25006), like a standby, or an old primary that came back as one.
    ///
    /// Lasts as long as the connection: another one may lead to the primary.
    public var isReadOnly: Bool { sqlState == "25006" }

    /// Whether the same statement may succeed later with the same data.
    ///
    /// True for 55P03 (lock not available), 40001 and 40P01 (serialization, deadlock), class 53 (resources), 57P01 to
    /// 57P05 (shutdown, crash, starting up), 25006 (``isReadOnly``), a lost connection, a failed connect for which the
    /// server sent no SQLSTATE, and a pool without a free session. False for a refused login, and for 57014: a
    /// statement may run into `statement_timeout` because of its data, so the caller decides; see ``isCancelled``.
    public var isTransient: Bool {
        guard let sqlState else { return isConnectionLost || code == .poolTimeout }
        if code == .connectionLost || isReadOnly { return true }
        return ["55P03", "40001", "40P01"].contains(sqlState) || sqlState.hasPrefix("53") || sqlState.hasPrefix("57P0")
    }

    /// Whether the statement was cancelled or ran into `statement_timeout`; the server has one SQLSTATE for both.
    public var isCancelled: Bool { code == .cancelled }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line that is safe to log; text that the server quotes is left out if it may be data.
    public var description: String {
        var text = "PostgreSQL: \(code)"
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let statement { text += " in statement \(statement)" }
        text += ": " + loggable(message)
        if let constraint { text += " [constraint \(constraint)]" }
        if let hint { text += " Hint: " + loggable(hint) }
        return text
    }

    /// The complete error including DETAIL: for a terminal, never for a log.
    public var debugDescription: String {
        var text = "PostgreSQL: \(code)"
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let statement { text += " in statement \(statement)" }
        text += ": " + message
        if let constraint { text += " [constraint \(constraint)]" }
        if let detail { text += " Detail: " + detail }
        if let hint { text += " Hint: " + hint }
        if !context.isEmpty { text += " Context: " + context }
        return text + " (\(fileID):\(line))"
    }

    /// Blanks text between double quotes, unless the SQLSTATE's class only ever quotes names.
    ///
    /// PostgreSQL quotes the offending value in data errors (`invalid input syntax for type integer: "…"`) but names of
    /// objects in the classes listed here. Raised exceptions (class P0) count as data.
    private func loggable(_ text: String) -> String {
        let namesOnly: Set = [
            "08", "0A", "23", "25", "26", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
        ]
        guard let sqlState, !namesOnly.contains(String(sqlState.prefix(2))) else { return text }
        var parts = text.split(separator: "\"", omittingEmptySubsequences: false).map(String.init)
        for index in parts.indices where index % 2 == 1 { parts[index] = "…" }
        return parts.joined(separator: "\"")
    }
}
