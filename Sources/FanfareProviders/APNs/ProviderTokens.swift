package import FanfareCore
package import PushCrypto
internal import Threading

/// The JSON web token of one APNs key, shared by all connections of the process that use the key.
///
/// APNs accepts a token for 1 hour and rejects one that changes within 20 minutes. The token is therefore signed once
/// and renewed after 45 to 50 minutes, never earlier (reference: Apple, "Establishing a token-based connection to
/// APNs").
package final class ProviderTokens: Sendable {
    private struct State {
        var token: Credential?
        var signedAt: Microseconds = 0
        var renewAfter: Microseconds = 0
    }

    private static let earliestRenewal = 20 * Micros.minute

    private let key: SigningKey
    /// The key that the tokens identify.
    let issuer: Issuer
    private let state = Locked(State())

    /// The values by which APNs identifies a signer.
    package struct Issuer: Equatable, Sendable {
        /// The `kid` header.
        package let keyID: String
        /// The `iss` claim.
        package let teamID: String
        /// SHA-256 of the key's file; nil if the file was not read.
        package let keyDigest: [UInt8]?

        /// Creates an issuer.
        package init(keyID: String, teamID: String, keyDigest: [UInt8]? = nil) {
            (self.keyID, self.teamID, self.keyDigest) = (keyID, teamID, keyDigest)
        }
    }

    /// Creates the store without signing a token.
    ///
    /// - Parameters:
    ///   - key: the key to sign with.
    ///   - issuer: the key that the tokens identify.
    package init(key: SigningKey, issuer: Issuer) {
        self.key = key
        self.issuer = issuer
    }

    /// Returns the current token; signs one if there is none or it is due for renewal.
    ///
    /// - Parameters:
    ///   - now: monotonic time.
    ///   - wall: wall-clock time, for `iat`.
    /// - Returns: the header value, shared by all connections.
    /// - Throws: if OpenSSL cannot sign.
    package func current(at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Credential {
        try state.withLock { state throws(CryptoError) in
            if let token = state.token, now - state.signedAt < state.renewAfter { return token }
            return try sign(&state, now, wall)
        }
    }

    /// Renews a token that APNs called expired.
    ///
    /// - Parameters:
    ///   - generation: the generation of the expired token; a newer one may already exist.
    ///   - now: monotonic time.
    ///   - wall: wall-clock time, for `iat`.
    /// - Returns: false if the token is too young to be replaced, which means that a clock is wrong.
    /// - Throws: if OpenSSL cannot sign.
    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Bool {
        try state.withLock { state throws(CryptoError) in
            guard let token = state.token, token.generation == generation else { return true }
            guard now - state.signedAt >= Self.earliestRenewal else { return false }
            _ = try sign(&state, now, wall)
            return true
        }
    }

    private func sign(_ state: inout State, _ now: Microseconds, _ wall: Microseconds) throws(CryptoError) -> Credential
    {
        let jwt = try JSONWebToken.sign(
            header: ["kid": .string(issuer.keyID)],
            claims: ["iss": .string(issuer.teamID), "iat": .integer(wall / Micros.second)],
            with: key
        )
        let token = Credential(authorization: "bearer " + jwt, generation: (state.token?.generation ?? 0) + 1)
        state.token = token
        state.signedAt = now
        // The jitter keeps a daemon's keys from renewing in the same minute.
        state.renewAfter = 45 * Micros.minute + .random(in: 0..<5 * Micros.minute)
        return token
    }
}
