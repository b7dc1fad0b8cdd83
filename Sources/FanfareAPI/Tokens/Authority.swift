internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes

/// Looks whether a request's token allows what it asks.
struct Authority: Sendable {
    let tokens: KnownTokens
    let phones: PhoneApps

    /// Looks.
    ///
    /// - Parameters:
    ///   - scope: what the route asks for.
    ///   - app: the app that the path names; nil for none.
    ///   - isForPhones: whether a phone may ask.
    ///   - headers: of the request.
    /// - Returns: who asks.
    /// - Throws: a ``Problem``, and what the database says.
    func asker(
        for scope: TokenScope,
        app: String?,
        isForPhones: Bool,
        _ headers: HTTPFields
    ) async throws -> Asker {
        let words = (headers[.authorization] ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Self.unauthorized(
                "the request has no token",
                hint: "Send the header Authorization: Bearer TOKEN."
            )
        }
        let text = String(words[1])
        guard PhoneToken.isMeant(by: text) else { return .token(try await token(text, for: scope, app: app)) }
        // Whoever signed it: nothing of it is looked at.
        guard isForPhones, let app else {
            throw Problem(
                .forbidden,
                "phones may not call this",
                hint: "Call it from the app's backend, with its own token."
            )
        }
        return .phone(try phones.user(text, of: app))
    }

    private func token(_ text: String, for scope: TokenScope, app: String?) async throws -> KnownToken {
        // What is not even of a token's form costs nothing.
        guard let given = APIToken(parsing: text), let token = try await tokens.find(given) else {
            throw Self.unauthorized("invalid token", hint: "It may have been revoked: see `fanfare tokens list`.")
        }
        guard token.budget.take() else {
            var problem = Problem(
                .tooMany,
                "rate limit of token \(token.row.id) exceeded",
                hint: "Wait as Retry-After says, emit with /v1/events/batch, or make a token with a higher --rate."
            )
            problem.retryAfter = 1
            throw problem
        }
        guard token.scopes.contains(scope) else {
            throw Problem(
                .forbidden,
                "token \(token.row.id) lacks the scope \(scope.rawValue)",
                hint: "Create one with `fanfare tokens create NAME --scope \(scope.rawValue)`."
            )
        }
        if let own = token.row.app, own != app {
            throw Problem(
                .forbidden,
                "token \(token.row.id) is for another app, or this request is not of one app",
                hint: "Use a token created without --app, or for this app."
            )
        }
        return token
    }

    private static func unauthorized(_ detail: String, hint: String) -> Problem {
        var problem = Problem(.unauthorized, detail, hint: hint)
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"fanfare\""
        return problem
    }
}

/// Who asks.
enum Asker: Sendable {
    /// Who has a token of Fanfare's own.
    case token(KnownToken)
    /// A phone.
    case phone(PhoneUser)

    /// Whose phone it is; nil for none.
    var phone: PhoneUser? {
        if case .phone(let user) = self { user } else { nil }
    }

    /// The id of Fanfare's own token; nil for a phone's.
    var tokenID: Int32? {
        if case .token(let token) = self { token.row.id } else { nil }
    }

    /// On whose behalf the database is asked.
    ///
    /// - Parameters:
    ///   - scope: what the route asks for; nil for nothing.
    ///   - requestID: by which log lines are found.
    /// - Returns: nil where nothing is asked for.
    func caller(scope: TokenScope?, _ requestID: String) -> ToolCaller? {
        guard let scope else { return nil }
        return switch self {
        case .token(let token):
            ToolCaller(scope: scope, actor: token.row.name, tokenID: token.row.id, requestID: requestID)
        case .phone(let user):
            ToolCaller(scope: scope, actor: user.actor, tokenID: nil, requestID: requestID)
        }
    }
}
