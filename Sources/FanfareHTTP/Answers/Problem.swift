internal import FanfareCore
internal import FanfareTools
internal import Foundation
package import HTTPTypes
internal import PostgresClient

/// Why a request was not done: a problem document (RFC 9457).
package struct Problem: Error, Sendable {
    /// The kind of a problem: part of its `type` and `code`, with a meaning that never changes.
    package enum Code: String, CaseIterable, Sendable {
        case malformed
        case unauthorized
        case forbidden
        case absent
        case methodNotAllowed = "method_not_allowed"
        case inUse = "in_use"
        case tooLarge = "too_large"
        case unsupportedType = "unsupported_type"
        case misdirected
        case refused
        case keyReused = "key_reused"
        case tooMany = "too_many"
        case failed
        case unavailable

        package var status: HTTPResponse.Status {
            switch self {
            case .malformed: .badRequest
            case .unauthorized: .unauthorized
            case .forbidden: .forbidden
            case .absent: .notFound
            case .methodNotAllowed: .methodNotAllowed
            case .inUse: .conflict
            case .tooLarge: .contentTooLarge
            case .unsupportedType: .unsupportedMediaType
            case .misdirected: .misdirectedRequest
            case .refused, .keyReused: .unprocessableContent
            case .tooMany: .tooManyRequests
            case .failed: .internalServerError
            case .unavailable: .serviceUnavailable
            }
        }

        package var title: String {
            switch self {
            case .malformed: "The request cannot be read"
            case .unauthorized: "Invalid token"
            case .forbidden: "The token does not allow this"
            case .absent: "Not found"
            case .methodNotAllowed: "Method not allowed"
            case .inUse: "The same request is in progress"
            case .tooLarge: "The body is too large"
            case .unsupportedType: "The body is not JSON"
            case .misdirected: "The request was meant for another host"
            case .refused: "The request was refused"
            case .keyReused: "The idempotency key was used for another request"
            case .tooMany: "Too many requests"
            case .failed: "Internal error"
            case .unavailable: "Database unavailable"
            }
        }
    }

    package let code: Code
    /// What is wrong with this request.
    package let detail: String
    /// How to fix it; empty if there is nothing to add.
    package var hint = ""
    /// The SQLSTATE, if the database refused the request.
    var sqlState: String?
    /// The JSON pointer to the place in the body.
    package var pointer: String?
    /// When to retry, in seconds.
    package var retryAfter: Int?
    /// Further headers of the response.
    package var headers = HTTPFields()

    /// Creates a problem.
    ///
    /// - Parameters:
    ///   - code: its kind.
    ///   - detail: what is wrong.
    ///   - hint: how to fix it.
    ///   - retryAfter: when to retry, in seconds.
    package init(_ code: Code, _ detail: String, hint: String = "", retryAfter: Int? = nil) {
        (self.code, self.detail, self.hint, self.retryAfter) = (code, detail, hint, retryAfter)
    }

    /// Returns the response that reports the problem.
    ///
    /// - Parameter requestID: the id in the log lines of the request.
    /// - Returns: `application/problem+json`.
    func answer(requestID: String) -> Answer {
        var members: [(String, JSONValue)] = [
            ("type", .string("urn:fanfare:problem:\(code.rawValue)")), ("title", .string(code.title)),
            ("status", .number(JSONNumber(code.status.code))), ("detail", .string(detail)),
            ("code", .string(code.rawValue)),
        ]
        if !hint.isEmpty { members.append(("hint", .string(hint))) }
        if let sqlState { members.append(("sqlstate", .string(sqlState))) }
        if let pointer { members.append(("pointer", .string(pointer))) }
        members.append(("request_id", .string(requestID)))
        var object = JSONObject()
        for (key, value) in members { object[key] = value }
        var answer = Answer(code.status, JSONValue.object(object).encoded, type: "application/problem+json")
        answer.headers.append(contentsOf: headers)
        if let retryAfter { answer.headers[.retryAfter] = String(retryAfter) }
        return answer
    }
}

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
