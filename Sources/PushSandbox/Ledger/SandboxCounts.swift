/// What a sandbox has counted since its start.
public struct SandboxCounts: Codable, Sendable, Equatable {
    /// Complete requests, however they were answered.
    public var received = 0
    /// Requests answered with 2xx.
    public var accepted = 0
    /// Requests that got no answer.
    public var unanswered = 0
    /// Devices, topics and channels that had at least one push accepted.
    public var distinctTokens = 0
    /// Pushes that a device got, or may have got, again: accepted or left unanswered after being processed, with a
    /// token and an id that had been so before.
    ///
    /// A repeat after a rejection, or after a reset that says "not processed", is none.
    public var duplicates = 0
    /// TLS connections that agreed on HTTP/2.
    public var connections = 0
    /// Those of them that are open.
    public var openConnections = 0
    /// Most concurrent streams seen on one connection.
    public var maxStreams = 0
    /// Streams refused because they exceeded the limit; they are not among `received`.
    public var refusedStreams = 0
    /// Streams the client reset before they were answered.
    public var cancelledStreams = 0
    /// Requests with a mistake that the real service could not have seen: Web Push messages no browser could decrypt.
    public var problems = 0
    /// Requests by provider, then by status and reason: `{"apns": {"200": 7, "410 Unregistered": 1, "none": 2}}`.
    public var byProvider: [String: [String: Int]] = [:]

    enum CodingKeys: String, CodingKey {
        case received, accepted, unanswered, duplicates, connections, problems
        case distinctTokens = "distinct_tokens"
        case openConnections = "open_connections"
        case maxStreams = "max_streams"
        case refusedStreams = "refused_streams"
        case cancelledStreams = "cancelled_streams"
        case byProvider = "by_provider"
    }
}
