internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import PostgresClient
internal import Threading

/// A session of the console: a token of the API, which the browser remembers without the token itself.
///
/// The cookie holds the token's id, the end of the session and its number, signed with the database's secret: every
/// daemon can verify it, and none stores it. Sessions that were logged out are kept in the database until their end.
/// Revoking a token ends its sessions within a second.
struct ConsoleSession: Sendable {
    /// The cookie's name, followed by the port, because cookies do not distinguish ports.
    private static let cookie = "fanfare_session"
    /// The length of a session in seconds.
    static let lifetime: Int64 = 12 * 3600
    private static let list = "console session"

    let token: KnownToken
    /// The end of the session, in seconds since 1970.
    let end: Int64
    /// The session's number.
    let id: Int64

    /// Finds the session of a request.
    ///
    /// - Parameter call: the request.
    /// - Returns: the session; nil if there is none, it has ended, or its token is revoked.
    /// - Throws: ``ToolError`` if the query fails.
    static func find(_ call: Call) async throws -> ConsoleSession? {
        guard let text = cookie(of: call) else { return nil }
        let place: [Int64]
        do {
            place = try await call.context.cursors.open(text, count: 3, of: list)
        } catch is Problem {
            return nil
        }
        guard place[1] > now, let id = Int32(exactly: place[0]),
            let token = try await call.context.authority.tokens.find(id: id)
        else { return nil }
        guard try await call.context.gate.rows(of: SQL.isSessionEnded(place[2])).first != true else { return nil }
        if let channel = call.channel { call.context.connections.trust(channel) }
        return ConsoleSession(token: token, end: place[1], id: place[2])
    }

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - token: the session's token.
    ///   - call: the request.
    /// - Returns: the value of the `Set-Cookie` header.
    /// - Throws: ``ToolError`` if the query fails.
    static func begin(_ token: KnownToken, _ call: Call) async throws -> String {
        let text = try await call.context.cursors.seal(
            [Int64(token.row.id), now + lifetime, .random(in: 0 ... .max)],
            of: list
        )
        return setCookie(text, seconds: lifetime, call)
    }

    /// Ends the session of a request, for all daemons.
    ///
    /// - Parameter call: the request.
    /// - Returns: the value of the `Set-Cookie` header that deletes the cookie.
    /// - Throws: ``ToolError`` if the query fails.
    static func finish(_ call: Call) async throws -> String {
        if let session = try await find(call) {
            _ = try await call.context.database.rows(of: SQL.endSession(session.id, Double(session.end)))
        }
        return setCookie("", seconds: 0, call)
    }

    /// Returns whether the token has a scope.
    func may(_ scope: TokenScope) -> Bool { token.scopes.contains(scope) }

    /// Creates the proof that a form was on a page of this session, for one path that it is sent to.
    func seal(_ path: String, _ call: Call) async throws -> String {
        try await call.context.cursors.seal([Int64(token.row.id), end, id], of: "console form\n\(path)")
    }

    /// Rejects a form that was on no page of this session.
    func check(seal: String, of path: String, _ call: Call) async throws {
        let stale = Problem(.forbidden, "this form belongs to another session", hint: "Load its page again.")
        do {
            let place = try await call.context.cursors.open(seal, count: 3, of: "console form\n\(path)")
            guard place == [Int64(token.row.id), end, id] else { throw stale }
        } catch is Problem {
            throw stale
        }
    }

    /// Returns the cookie's name for the browser's address: two daemons on one host have separate sessions.
    private static func cookieName(_ call: Call) -> String {
        let port = call.authority?.split(separator: ":").last.flatMap { UInt16($0) }
        return port.map { "\(cookie)_\($0)" } ?? cookie
    }

    private static func cookie(of call: Call) -> String? {
        let cookie = cookieName(call)
        for field in call.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1).map { $0.drop { $0 == " " } }
                if parts.count == 2, parts[0] == cookie { return String(parts[1]) }
            }
        }
        return nil
    }

    private static func setCookie(_ text: String, seconds: Int64, _ call: Call) -> String {
        let secure = call.context.isSecure || call.headers[.forwardedProtocol] == "https" ? "; Secure" : ""
        return
            "\(cookieName(call))=\(text); Path=\(call.context.basePath)/; HttpOnly; SameSite=Strict; Max-Age=\(seconds)\(secure)"
    }

    private static var now: Int64 { KernelClock.realTime.microseconds / 1_000_000 }
}
