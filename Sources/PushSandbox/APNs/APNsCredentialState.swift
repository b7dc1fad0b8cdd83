/// What a connection to APNs remembers about provider tokens.
struct APNsCredentialState {
    /// Seconds a provider token is valid for, counted from `iat`.
    static let lifetime: Int64 = 3600
    /// Seconds that must lie between two provider tokens on a connection.
    static let updateInterval: Int64 = 1200

    private let verifier: ProviderTokenVerifier
    /// The header last accepted, so that its signature is verified once per connection and not per request.
    private var accepted: (header: String, token: ProviderToken, since: Int64)?

    init(_ verifier: ProviderTokenVerifier) {
        self.verifier = verifier
    }

    /// Checks the `authorization` header of one request.
    ///
    /// - Parameters:
    ///   - header: its value; nil if the request has none.
    ///   - now: wall clock, in seconds since 1970.
    /// - Returns: why it is refused, or nil.
    mutating func check(_ header: String?, now: Int64) -> APNsRejection? {
        if let accepted, accepted.header == header {
            return now >= accepted.token.issuedAt + Self.lifetime ? .expiredProviderToken : nil
        }
        guard let header, header.lowercased().hasPrefix("bearer "), header.utf8.count > 7 else {
            return .missingProviderToken
        }
        // An `iat` far ahead is one in milliseconds. What the real service says to it is not documented.
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

    /// A change is too soon within 20 minutes of the last one, unless the old token had itself reached that age.
    ///
    /// Without the exception a client that opens a connection shortly before it renews its token would be refused.
    private func isTooSoon(
        _ token: ProviderToken,
        after last: (header: String, token: ProviderToken, since: Int64),
        now: Int64
    ) -> Bool {
        now < last.since + Self.updateInterval && token.issuedAt < last.token.issuedAt + Self.updateInterval
    }
}
