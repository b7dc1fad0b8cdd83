import Foundation
import Threading

/// The access tokens that the simulated token endpoint has issued, which FCM checks.
final class AccessTokens: Sendable {
    /// The end of each token's validity, in seconds since 1970.
    private let issued = Locked<[String: Int64]>([:])

    /// Issues a token.
    ///
    /// - Parameters:
    ///   - now: the wall clock, in seconds since 1970.
    ///   - lifetime: the validity in seconds.
    /// - Returns: the token.
    func issue(now: Int64, lifetime: Int64) -> String {
        let random = (0..<96).map { _ in UInt8.random(in: 0...255) }
        let token = "ya29." + Data(random).base64URL
        issued.withLock { issued in
            issued = issued.filter { $0.value > now }
            issued[token] = now + lifetime
        }
        return token
    }

    /// Returns the end of a token's validity, in seconds since 1970; nil if it was never issued.
    func end(of token: String) -> Int64? {
        issued.withLock { $0[token] }
    }
}

/// The verified access token of a connection, so that a token is checked once and not per request.
struct AccessTokenState {
    /// The error in a request's credential.
    enum Failure {
        case missing
        case invalid
    }

    private let tokens: AccessTokens
    private var accepted: (header: String, end: Int64)?

    init(_ tokens: AccessTokens) {
        self.tokens = tokens
    }

    /// Checks the `authorization` header of one request (RFC 6750 section 2.1).
    ///
    /// - Parameters:
    ///   - header: the header's value; nil if the request has none.
    ///   - now: the wall clock, in seconds since 1970.
    /// - Returns: the error, or nil.
    mutating func check(_ header: String?, now: Int64) -> Failure? {
        if let accepted, accepted.header == header {
            return now < accepted.end ? nil : .invalid
        }
        guard let header, header.lowercased().hasPrefix("bearer "), header.utf8.count > 7 else { return .missing }
        guard let end = tokens.end(of: String(header.dropFirst(7))), now < end else { return .invalid }
        accepted = (header, end)
        return nil
    }
}
