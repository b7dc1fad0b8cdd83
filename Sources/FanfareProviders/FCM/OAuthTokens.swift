internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import Foundation
internal import HTTP2Client
internal import Logging
package import PushCrypto
package import PushTransport
internal import Threading

/// The access token of one service account, shared by all connections of the process that use the account.
///
/// A thread of its own fetches the token (RFC 7523), one fetch at a time, and renews it well before it expires. While
/// the token endpoint is unreachable, the old token is used until it expires (reference: Google, "Using OAuth 2.0 for
/// server to server applications").
final class OAuthTokens: Sendable {
    private struct State {
        var current: Credential?
        var expiresAt: Microseconds = 0
        var renewsAt: Microseconds = 0
        var isFetching = false
        var isWanted = false
        var fetchedAt: Microseconds = 0
        var nextFetchAt: Microseconds = 0
        var failures = 0
    }

    /// The members that are used of a token endpoint's answer.
    private struct Answer: Decodable {
        let accessToken: String
        let expiresIn: Double?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }
    }

    /// The age below which a token that FCM calls expired is not renewed: the account or a clock is wrong then.
    private static let leastAge = AccessTokenTimes.leastPause
    private static let longestPause = 60 * Micros.second

    private let account: ServiceAccount
    private let url: HTTPSURL
    private let caFile: String?
    private let proxy: HTTPProxy?
    private let logger: Logger
    private let state = Locked(State())

    /// - Parameters:
    ///   - account: the service account.
    ///   - url: the account's token endpoint.
    ///   - caFile: CAs to trust in addition to the system's.
    ///   - proxy: the proxy for requests to the endpoint.
    ///   - logger: logs failures, never tokens.
    init(account: ServiceAccount, url: HTTPSURL, caFile: String?, proxy: HTTPProxy?, logger: Logger) {
        self.account = account
        self.url = url
        self.caFile = caFile
        self.proxy = proxy
        self.logger = logger
    }

    /// Returns the current token; starts to fetch one if there is none or it expires soon.
    ///
    /// - Parameter now: monotonic time.
    /// - Returns: nil while there is no valid token.
    func current(at now: Microseconds) -> Credential? {
        let (credential, mustFetch) = state.withLock { state in
            let isValid = now < state.expiresAt
            let isDue = state.isWanted || now >= state.renewsAt
            guard isDue, !state.isFetching, now >= state.nextFetchAt else {
                return (isValid ? state.current : nil, false)
            }
            state.isFetching = true
            return (isValid ? state.current : nil, true)
        }
        // The thread is not joined: it ends within a request's timeout, and process exit ends it too.
        if mustFetch && WorkerThread.startIfPossible(name: "oauth", { [self] in fetch() }) == nil {
            failed(TokenProblem(description: "the system has no thread left"))
        }
        return credential
    }

    /// Renews a token that FCM called expired.
    ///
    /// - Parameters:
    ///   - generation: the generation of the expired token; a newer one may already exist.
    ///   - now: monotonic time.
    /// - Returns: false if the token was fetched too recently to be replaced.
    func renew(after generation: Int, at now: Microseconds) -> Bool {
        let isRenewed = state.withLock { state in
            guard state.current?.generation == generation else { return true }
            guard now - state.fetchedAt >= Self.leastAge else { return false }
            state.isWanted = true
            state.expiresAt = min(state.expiresAt, now)
            return true
        }
        _ = current(at: now)
        return isRenewed
    }

    private func fetch() {
        let start = Clocks.steady
        do {
            let answer = try request()
            let end = Clocks.steady
            let times = AccessTokenTimes(asked: start, answered: end, expiresIn: answer.expiresIn)
            state.withLock { state in
                let generation = (state.current?.generation ?? 0) + 1
                state = State(
                    current: Credential(authorization: "Bearer " + answer.accessToken, generation: generation),
                    expiresAt: times.expiresAt,
                    renewsAt: times.renewsAt,
                    fetchedAt: end,
                    nextFetchAt: times.nextFetchAt
                )
            }
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: any Error) {
        let pause = state.withLock { state in
            state.failures += 1
            let pause = min(Micros.second << Int64(min(state.failures - 1, 6)), Self.longestPause)
            state.isFetching = false
            state.nextFetchAt = Clocks.steady + pause
            return pause
        }
        logger.error(
            "an access token could not be fetched",
            metadata: .init([.error: "\(error); the next attempt comes in \(pause / Micros.second) s"])
        )
    }

    private func request() throws -> Answer {
        let answer = try SingleRequest(tokenFor: account, from: url, caFile: caFile, proxy: proxy).send()
        guard answer.status == 200 else {
            let said = answer.status == 0 ? answer.detail : "\(answer.status) \(OAuthError(answer.body).words)"
            throw TokenProblem(description: "\(url.origin) says \(said)")
        }
        guard let read = try? JSONDecoder().decode(Answer.self, from: Data(answer.body)) else {
            throw TokenProblem(description: "\(url.origin) answered 200 without an access token")
        }
        return read
    }
}

extension SingleRequest {
    /// Creates the request that exchanges an assertion, signed now, for an access token (RFC 7523 section 2.1).
    package init(tokenFor account: ServiceAccount, from url: HTTPSURL, caFile: String?, proxy: HTTPProxy?) throws {
        let assertion = try account.assertion(issuedAt: Clocks.wallSeconds)
        let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        try self.init(posting: [("grant_type", grant), ("assertion", assertion)], to: url)
        (self.caFile, self.proxy) = (caFile, proxy)
    }
}

/// The reason why there is no token; safe to log.
private struct TokenProblem: Error, CustomStringConvertible {
    let description: String
}

/// The error of a token endpoint (RFC 6749 section 5.2).
private struct OAuthError {
    /// The error code, such as `invalid_scope`, with advice if there is some; a generic text if the body has no code.
    let words: String

    init(_ body: [UInt8]) {
        let object = (try? JSONValue(parsing: String(decoding: body, as: UTF8.self)))?.objectValue
        let text = object?["error"]?.stringValue ?? ""
        let isCode = text.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
        let known = isCode && (1...64).contains(text.utf8.count) ? text : "without a known error"
        // Google gives the same answer for an assertion from the future and for a deleted key.
        let advice = known == "invalid_grant" ? " (is this machine's clock right, and is the key still valid?)" : ""
        words = known + advice
    }
}
