/// What went wrong between Fanfare and PostgreSQL.
///
/// `description` is safe to log: it never holds a bind value, DETAIL, or a password. `debugDescription` is complete.
public struct PostgresError: Error, Sendable {
    /// The kind of failure, to branch on.
    public internal(set) var code: Code
    /// The server's five-character SQLSTATE, nil when the server said nothing.
    public let sqlState: String?
    /// The primary message, in full; may quote data, so show it to the person who typed that data and log `description`.
    public let message: String
    /// What to do about it, if known; may quote data like `message`.
    public let hint: String?
    /// The server's DETAIL, which often quotes rows.
    public let detail: String?
    /// Name of the constraint that was violated.
    public let constraint: String?
    /// Name of the prepared statement that failed.
    public let statement: String?
    /// Where in the SQL or in which function it happened, in the server's words; may quote data.
    public internal(set) var context = ""
    /// Whether the connection was given up because no answer came in time: the server, or the way to it, is silent.
    public internal(set) var isUnanswered = false
    /// Where in this module the error was made, as `Module/File.swift`.
    public let fileID: String
    /// The line in `fileID`.
    public let line: Int

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - sqlState: the server's SQLSTATE, if it sent one.
    ///   - message: what happened, in one line.
    ///   - hint: how to fix it.
    ///   - detail: what must not reach a log.
    ///   - constraint: the violated constraint.
    ///   - statement: the prepared statement's name.
    ///   - fileID: where it happened.
    ///   - line: where it happened.
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

        /// No connection can be made with these options: the URL cannot be read or used, or a password is missing.
        public static let invalidOptions = Code(kind: .invalidOptions)
        /// No connection could be made: unreachable, refused, wrong password, no such database, too many, time-out.
        public static let connectionFailed = Code(kind: .connectionFailed)
        /// A connection that worked is gone; whether a statement in flight, a COMMIT too, took effect is unknown.
        public static let connectionLost = Code(kind: .connectionLost)
        /// The server answered with an error; `sqlState` says which.
        public static let server = Code(kind: .server)
        /// What came is not what was to come: a column of another type than the decoder expects, NULL where it expects a
        /// value, or an answer that cannot be.
        public static let protocolMismatch = Code(kind: .protocolMismatch)
        /// A statement, or the wait for a connection, was ended on purpose or by `statement_timeout` (57014).
        public static let cancelled = Code(kind: .cancelled)

        /// The connection works, and leads to an old primary (``PostgresTimelines``), or, as its user finds, to a database that
        /// is not to be worked on.
        public static let wrongDatabase = Code(kind: .wrongDatabase)
        /// All sessions of a pool were at work for as long as the caller would wait; nothing was sent.
        public static let poolTimeout = Code(kind: .poolTimeout)
        /// The pool is closed, or closes; nothing was sent.
        public static let poolClosed = Code(kind: .poolClosed)
        /// Work on a pool's session returned without ending a transaction; that was rolled back.
        public static let transactionLeftOpen = Code(kind: .transactionLeftOpen)

        /// The kind in words.
        public var description: String { kind.rawValue }
    }

    /// Whether the connection is of no more use: open another one.
    public var isConnectionLost: Bool { code == .connectionLost || code == .connectionFailed }

    /// Whether the server takes no writes (25006), as a standby does, and an old primary that came back as one.
    ///
    /// Lasts as long as the connection: another one may lead to the primary.
    public var isReadOnly: Bool { sqlState == "25006" }

    /// Whether the same statement may succeed later although nothing about its data changes.
    ///
    /// True for 55P03 (lock not available), 40001 and 40P01 (serialization, deadlock), class 53 (resources), 57P01 to
    /// 57P05 (shutdown, crash, starting up), 25006 (``isReadOnly``), a lost connection, a failed connect for which the
    /// server gave no SQLSTATE, and a pool without a free session. False for a refused login, and for 57014: a statement that ran into `statement_timeout` may
    /// do so because of its data, so the caller decides; see ``isCancelled``.
    public var isTransient: Bool {
        guard let sqlState else { return isConnectionLost || code == .poolTimeout }
        if code == .connectionLost || isReadOnly { return true }
        return ["55P03", "40001", "40P01"].contains(sqlState) || sqlState.hasPrefix("53") || sqlState.hasPrefix("57P0")
    }

    /// Whether the statement was cancelled or ran into `statement_timeout`; the server has one SQLSTATE for both.
    public var isCancelled: Bool { code == .cancelled }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line that may be logged; text that the server quotes is left out where it could be data.
    public var description: String {
        var text = "PostgreSQL: \(code)"
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let statement { text += " in statement \(statement)" }
        text += ": " + loggable(message)
        if let constraint { text += " [constraint \(constraint)]" }
        if let hint { text += " Hint: " + loggable(hint) }
        return text
    }

    /// Everything, DETAIL included: for a terminal, never for a log.
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

    /// Blanks what stands between double quotes unless the SQLSTATE's class only ever quotes names.
    ///
    /// PostgreSQL quotes the offending value in data errors (`invalid input syntax for type integer: "…"`) but names
    /// of objects in the classes listed here. Raised exceptions (class P0) count as data.
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
