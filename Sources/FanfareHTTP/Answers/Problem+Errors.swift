internal import FanfareTools
internal import Foundation
internal import PostgresClient

extension Problem {
    /// Converts an error to a problem document.
    ///
    /// - Parameter error: any error; the text of an unexpected one is withheld, because it may hold confidential data.
    package init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as ToolError: self.init(tool: error)
        case let error as PostgresError: self.init(database: error)
        case is CancellationError: self = .away("the daemon is shutting down")
        default: self.init(.failed, "the request failed", hint: "See the daemon's log.")
        }
    }

    private init(tool error: ToolError) {
        if let cause = error.cause {
            self.init(database: cause)
            return
        }
        switch error.kind {
        case .unavailable: self = .away(error.reason)
        case .configuration: self.init(.failed, error.reason, hint: error.hint)
        case .usage, .failed: self.init(error.isAbsence ? .absent : .refused, error.reason, hint: error.hint)
        }
    }

    /// Passes on the messages of classes 22, 23, 42 and P0, which the schema's functions write for clients.
    private init(database error: PostgresError) {
        switch error.sqlState {
        case "42P01", "3F000", "42883":
            self.init(
                .unavailable,
                "the database has no Fanfare schema, or one of another version",
                hint: "Run `fanfare migrate`.",
                retryAfter: 10
            )
        case "42501":
            self.init(.forbidden, error.message, hint: error.hint ?? "")
        case "57014":
            self = .away("the database took too long")
        case "P0002":
            self.init(.absent, error.message, hint: error.hint ?? "")
        case let state? where Self.refusing.contains(String(state.prefix(2))) && !error.isTransient:
            self.init(.refused, error.message, hint: error.hint ?? "")
        case nil where error.code == .protocolMismatch:
            self.init(.failed, "the database gave an unexpected answer")
        default:
            self = .away("database unreachable or overloaded")
        }
        sqlState = error.sqlState
    }

    private static let refusing: Set = ["22", "23", "42", "P0", "55", "54", "0A"]

    /// Returns a problem for a database or daemon that is temporarily unavailable.
    ///
    /// - Parameter detail: the known cause.
    /// - Returns: 503, to be retried after one second.
    static func away(_ detail: String) -> Problem {
        Problem(.unavailable, detail, hint: notKnown, retryAfter: 1)
    }

    private static let notKnown = "It may or may not have been done; try again."

    /// The same problem for a request that had not changed anything yet.
    var untouched: Problem {
        var problem = self
        if hint == Self.notKnown { problem.hint = "Nothing was changed; try again." }
        return problem
    }
}
