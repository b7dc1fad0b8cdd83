internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import Logging
internal import PushCrypto
internal import PushTransport
internal import Threading

/// The VAPID signatures of one key, one for each push service, which are used for hours (RFC 8292).
final class VAPIDTokens: Sendable {
    private struct Token {
        let authorization: String
        let signedAt: Microseconds
    }

    private struct State {
        var tokens: [Endpoint: Token] = [:]
        var generation = 1
        var renewedAt: Microseconds?
    }

    /// The age at which a signature is renewed: half of its validity.
    private static let renewal = 6 * 60 * Micros.minute
    /// The minimum age for a renewal: Apple asks for at most one signature an hour.
    private static let leastAge = 60 * Micros.minute
    /// The number of origins that are remembered, because origins come from outside.
    private static let originLimit = 1000

    private let key: VAPIDKey
    private let subject: String
    private let logger: Logger
    private let state = Locked(State())

    init(key: VAPIDKey, subject: String, logger: Logger) {
        self.key = key
        self.subject = subject
        self.logger = logger
    }

    /// The number of times that all signatures were dropped.
    var generation: Int { state.withLock { $0.generation } }

    /// Returns the `Authorization` field for a push service.
    ///
    /// - Parameters:
    ///   - origin: the push service.
    ///   - now: monotonic time.
    ///   - wall: wall clock.
    /// - Returns: nil if OpenSSL cannot sign, which is logged.
    func authorization(for origin: Endpoint, at now: Microseconds, wall: Microseconds) -> String? {
        let known = state.withLock { $0.tokens[origin] }
        if let known, now - known.signedAt < Self.renewal { return known.authorization }
        do throws(CryptoError) {
            let authorization = try key.authorization(
                origin: "\(origin)",
                subject: subject,
                issuedAt: wall / Micros.second
            )
            state.withLock { state in
                if state.tokens.count >= Self.originLimit { state.tokens = [:] }
                state.tokens[origin] = Token(authorization: authorization, signedAt: now)
            }
            return authorization
        } catch {
            logger.error("a VAPID token could not be signed", metadata: .init([.error: "\(error)"]))
            return nil
        }
    }

    /// Drops all signatures after a push service called one expired.
    ///
    /// - Parameters:
    ///   - generation: the generation of the expired one.
    ///   - now: monotonic time.
    /// - Returns: false if they were dropped within the last hour.
    func renew(after generation: Int, at now: Microseconds) -> Bool {
        state.withLock { state in
            guard generation == state.generation else { return true }
            if let renewedAt = state.renewedAt, now - renewedAt < Self.leastAge { return false }
            state = State(tokens: [:], generation: generation + 1, renewedAt: now)
            return true
        }
    }
}
