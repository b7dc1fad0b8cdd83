internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes

/// Looks whether a request's token allows what it asks.
struct Authority: Sendable {
    let board: TokenBoard

    /// Looks.
    ///
    /// - Parameters:
    ///   - scope: what the route asks for.
    ///   - app: the app that the path names; nil for none.
    ///   - headers: of the request.
    /// - Returns: the token.
    /// - Throws: a ``Problem``, and what the database says.
    func token(for scope: TokenScope, app: String?, _ headers: HTTPFields) async throws -> KnownToken {
        let token = try await known(headers)
        guard token.budget.take() else {
            var problem = Problem(
                .tooMany,
                "token \(token.row.id) makes too many requests",
                hint: "Wait as Retry-After says, emit with /v1/events/batch, or make a token with a higher --rate."
            )
            problem.retryAfter = 1
            throw problem
        }
        guard token.scopes.contains(scope) else {
            throw Problem(
                .forbidden,
                "token \(token.row.id) has not the scope \(scope.rawValue)",
                hint: "Make one by `fanfare tokens create NAME --scope \(scope.rawValue)`."
            )
        }
        if let own = token.row.app, own != app {
            throw Problem(
                .forbidden,
                "token \(token.row.id) is for another app, or this is no app's alone",
                hint: "Use one that was made without --app, or for this app."
            )
        }
        return token
    }

    private func known(_ headers: HTTPFields) async throws -> KnownToken {
        let words = (headers[.authorization] ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Self.unauthorized(
                "there is no token in the request",
                hint: "Send the header Authorization: Bearer TOKEN."
            )
        }
        // What is not even of a token's form costs nothing.
        guard let given = APIToken(parsing: String(words[1])), let token = try await board.find(given) else {
            throw Self.unauthorized("the token is not known", hint: "It may be revoked: see `fanfare tokens list`.")
        }
        return token
    }

    private static func unauthorized(_ detail: String, hint: String) -> Problem {
        var problem = Problem(.unauthorized, detail, hint: hint)
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"fanfare\""
        return problem
    }
}
