/// The counts of a sandbox since its start.
public struct SandboxCounts: Codable, Sendable, Equatable {
    /// The number of complete requests, with any response.
    public var received = 0
    /// The number of requests with a 2xx response.
    public var accepted = 0
    /// The number of requests without a response.
    public var unanswered = 0
    /// The number of devices, topics and channels with at least one accepted push.
    public var distinctTokens = 0
    /// The number of repeated pushes: accepted, or processed without a response, with a token and an id that had been
    /// so before.
    ///
    /// A repeat after a rejection, or after a reset that says "not processed", does not count.
    public var duplicates = 0
    /// The number of TLS connections that negotiated HTTP/2.
    public var connections = 0
    /// The number of those connections that are open.
    public var openConnections = 0
    /// The largest number of concurrent streams on one connection.
    public var maxStreams = 0
    /// The number of streams refused above the limit; they are not part of `received`.
    public var refusedStreams = 0
    /// The number of streams that the client reset before the response.
    public var cancelledStreams = 0
    /// The number of requests with an error that the real service could not detect: Web Push messages that no browser
    /// can decrypt.
    public var problems = 0
    /// The number of memberships of FCM's topics that were requested, each by one operation, and served.
    public var memberships = 0
    /// The largest number of served requests for one of them; those answered 429 or 5xx do not count.
    public var requestsPerMembership = 0
    /// The number of requests by provider, then by status and reason: `{"apns": {"200": 7, "410 Unregistered": 1,
    /// "none": 2}}`.
    public var byProvider: [String: [String: Int]] = [:]

    enum CodingKeys: String, CodingKey {
        case received, accepted, unanswered, duplicates, connections, problems, memberships
        case requestsPerMembership = "requests_per_membership"
        case distinctTokens = "distinct_tokens"
        case openConnections = "open_connections"
        case maxStreams = "max_streams"
        case refusedStreams = "refused_streams"
        case cancelledStreams = "cancelled_streams"
        case byProvider = "by_provider"
    }
}
