package import FanfareCore
package import PushCrypto
internal import Threading

/// The JSON web token of one APNs key, shared by all connections of the process that use it.
///
/// APNs accepts a token for an hour, and refuses one that changes within twenty minutes; so it is signed once and renewed
/// at 45 to 50 minutes, never early (reference: Apple, "Establishing a token-based connection to APNs").
package final class ProviderTokens: Sendable {
    private struct State {
        var token: Credential?
        var signedAt: Microseconds = 0
        var renewAfter: Microseconds = 0
    }

    private static let earliestRenewal = 20 * Micros.minute

    private let key: SigningKey
    /// Whom its tokens name.
    let issuer: Issuer
    private let state = Locked(State())

    /// What APNs takes for the same signer.
    package struct Issuer: Equatable, Sendable {
        /// The `kid` header.
        package let keyID: String
        /// The `iss` claim.
        package let teamID: String
        /// SHA-256 of the key's file; nil if it was not read.
        package let keyDigest: [UInt8]?

        /// Takes over ids and digest.
        package init(keyID: String, teamID: String, keyDigest: [UInt8]? = nil) {
            (self.keyID, self.teamID, self.keyDigest) = (keyID, teamID, keyDigest)
        }
    }

    /// Signs nothing yet.
    ///
    /// - Parameters:
    ///   - key: signs.
    ///   - issuer: whom the tokens name.
    package init(key: SigningKey, issuer: Issuer) {
        self.key = key
        self.issuer = issuer
    }

    /// The token to use now; signs one when there is none or it is old.
    ///
    /// - Parameters:
    ///   - now: steady time.
    ///   - wall: wall clock, for `iat`.
    /// - Returns: the header's value, shared by all connections.
    /// - Throws: if OpenSSL cannot sign.
    package func current(at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Credential {
        try state.withLock { state throws(CryptoError) in
            if let token = state.token, now - state.signedAt < state.renewAfter { return token }
            return try sign(&state, now, wall)
        }
    }

    /// APNs called a token expired.
    ///
    /// - Parameters:
    ///   - generation: which; a newer one may have been signed since.
    ///   - now: steady time.
    ///   - wall: wall clock, for `iat`.
    /// - Returns: false if the token is too young for a new one: then a clock is wrong.
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
        // Not all keys of a daemon in the same minute.
        state.renewAfter = 45 * Micros.minute + .random(in: 0..<5 * Micros.minute)
        return token
    }
}
