/// The provider tokens of a connection to APNs.
struct APNsCredentialState {
    /// The validity of a provider token in seconds, counted from `iat`.
    static let lifetime: Int64 = 3600
    /// The shortest time between two provider tokens on a connection, in seconds.
    static let updateInterval: Int64 = 1200

    private let verifier: ProviderTokenVerifier
    /// The last accepted header, so that its signature is verified once per connection and not per request.
    private var accepted: (header: String, token: ProviderToken, since: Int64)?

    init(_ verifier: ProviderTokenVerifier) {
        self.verifier = verifier
    }

    /// Checks the `authorization` header of one request.
    ///
    /// - Parameters:
    ///   - header: the header's value; nil if the request has none.
    ///   - now: the wall clock, in seconds since 1970.
    /// - Returns: the reason for the rejection, or nil.
    mutating func check(_ header: String?, now: Int64) -> APNsRejection? {
        if let accepted, accepted.header == header {
            return now >= accepted.token.issuedAt + Self.lifetime ? .expiredProviderToken : nil
        }
        guard let header, header.lowercased().hasPrefix("bearer "), header.utf8.count > 7 else {
            return .missingProviderToken
        }
        // An `iat` far in the future is one in milliseconds. The real service's response to it is not documented.
        guard let token = verifier.verify(header.dropFirst(7)), token.issuedAt < now + Self.lifetime else {
            return .invalidProviderToken
        }
        guard now < token.issuedAt + Self.lifetime else { return .expiredProviderToken }
        if let accepted, isTooSoon(token, after: accepted, now: now) {
            return .tooManyProviderTokenUpdates
        }
        accepted = (header, token, now)
        return nil
    }

    /// Returns whether a token replaces another too soon: within 20 minutes, unless the old token was itself that old.
    ///
    /// Without the exception, a client that opens a connection shortly before it renews its token would be rejected.
    private func isTooSoon(
        _ token: ProviderToken,
        after last: (header: String, token: ProviderToken, since: Int64),
        now: Int64
    ) -> Bool {
        now < last.since + Self.updateInterval && token.issuedAt < last.token.issuedAt + Self.updateInterval
    }
}
