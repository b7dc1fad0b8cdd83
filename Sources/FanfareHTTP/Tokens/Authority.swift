internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import Foundation
internal import HTTPTypes
internal import PushCrypto

/// Checks the token of a phone, and that it is for an app; throws a ``Problem`` if not.
package typealias PhoneCheck = @Sendable (_ token: String, _ app: String) throws -> PhoneUser

/// Checks whether a request's token allows the request.
package struct Authority: Sendable {
    package let tokens: KnownTokens
    let phone: PhoneCheck

    /// Returns the caller of a request.
    ///
    /// - Parameters:
    ///   - scope: the scope that the route needs.
    ///   - app: the app in the path; nil for none.
    ///   - isForPhones: whether the route accepts phone tokens.
    ///   - isForReports: whether the route accepts report keys, which it checks itself.
    ///   - headers: the headers of the request.
    /// - Returns: the caller.
    /// - Throws: a ``Problem`` if the token is missing, invalid or not sufficient, and errors of the database.
    func asker(
        for scope: TokenScope,
        app: String?,
        isForPhones: Bool,
        isForReports: Bool = false,
        _ headers: HTTPFields
    ) async throws -> Asker {
        let words = (headers[.authorization] ?? "").split(separator: " ")
        if isForReports, words.count == 2, words[0].lowercased() == "report" {
            guard let key = ReportKeyText(parsing: words[1]) else {
                throw Self.unauthorized("the report key is damaged", hint: "Register the device again.")
            }
            return .device(key)
        }
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Self.unauthorized(
                "the request has no token",
                hint: "Send the header Authorization: Bearer TOKEN."
            )
        }
        let text = String(words[1])
        guard Self.isOfPhone(text) else {
            guard !isForReports else {
                throw Problem(
                    .forbidden,
                    "only devices report",
                    hint: "Send Authorization: Report KEY, with the report_key of the registration."
                )
            }
            return .token(try await token(text, for: scope, app: app))
        }
        // Where phone tokens are not accepted, they are refused without checking the signature.
        guard isForPhones, let app else {
            throw Problem(
                .forbidden,
                "phones may not call this",
                hint: "Call it from the app's backend, with its own token."
            )
        }
        return .phone(try phone(text, app))
    }

    /// Returns whether a bearer token has the form of a phone token, which has three parts; Fanfare's own have no dots.
    private static func isOfPhone(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

    private func token(_ text: String, for scope: TokenScope, app: String?) async throws -> KnownToken {
        // Text that does not have the form of a token is refused without a query.
        guard let given = APIToken(parsing: text), let token = try await tokens.find(given) else {
            throw Self.unauthorized("invalid token", hint: "It may have been revoked: see `fanfare tokens list`.")
        }
        guard token.budget.take() else {
            throw Problem(
                .tooMany,
                "rate limit of token \(token.row.id) exceeded",
                hint: "Wait as Retry-After says, emit with /v1/events/batch, or make a token with a higher --rate.",
                retryAfter: 1
            )
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

/// The caller of a request.
enum Asker: Sendable {
    /// A caller with one of Fanfare's own tokens.
    case token(KnownToken)
    /// A phone with a token of its app's backend.
    case phone(PhoneUser)
    /// A device with a report key. The route checks the key.
    case device(ReportKeyText)

    /// The report key; nil for tokens.
    var reportKey: ReportKeyText? {
        if case .device(let key) = self { key } else { nil }
    }

    /// The phone's user; nil for one of Fanfare's own tokens.
    var phone: PhoneUser? {
        if case .phone(let user) = self { user } else { nil }
    }

    /// The id of Fanfare's own token; nil for a phone token.
    var tokenID: Int32? {
        if case .token(let token) = self { token.row.id } else { nil }
    }

    /// Returns the caller that the database acts for.
    ///
    /// - Parameters:
    ///   - scope: the scope that the route needs; nil if it needs no token.
    ///   - requestID: the id in the log lines of the request.
    /// - Returns: nil if the route needs no token.
    func caller(scope: TokenScope?, _ requestID: String) -> ToolCaller? {
        guard let scope else { return nil }
        return switch self {
        case .token(let token):
            ToolCaller(scope: scope, actor: token.row.name, tokenID: token.row.id, requestID: requestID)
        case .phone(let user):
            ToolCaller(scope: scope, actor: user.actor, tokenID: nil, requestID: requestID)
        case .device(let key):
            ToolCaller(scope: scope, actor: "device \(key.device)", tokenID: nil, requestID: requestID)
        }
    }
}

/// The user of a phone token, who may access only their own data.
package struct PhoneUser: Sendable {
    /// The user's id, from the token.
    package let id: String
    /// The topics that phones of the app may subscribe to.
    package let topics: [String]

    /// The user's name in `fanfare.actions`: a hash, because those rows outlive a user who is forgotten.
    fileprivate var actor: String {
        "phone of \(sha256(Array(id.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined())"
    }

    package init(id: String, topics: [String]) { (self.id, self.topics) = (id, topics) }
}

/// A device's report key as a request has it: the device's id, a dot and 22 characters of base64url.
package struct ReportKeyText: Sendable {
    /// The device that the key claims to be of.
    package let device: Int64
    /// The 16 bytes that prove it.
    package let bytes: [UInt8]

    init?(parsing text: Substring) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count <= 19, let device = Int64(parts[0]), device > 0,
            parts[1].utf8.count == 22, let bytes = Base64URL.decode(String(parts[1])), bytes.count == 16
        else { return nil }
        (self.device, self.bytes) = (device, bytes)
    }
}
