internal import PushTransport

/// The life of one connection and its window: the number of requests that it may have at once.
///
/// The window is 1 until the first answer arrives. From then on it is the peer's limit, and follows each change at
/// once. APNs allows 1 until it has seen a valid token.
struct ConnectionStateMachine {
    /// The phase of a connection.
    enum Phase {
        /// Resolving, connecting or in the TLS handshake. Can transition to: established, retired.
        case opening
        /// Ready to send requests. Can transition to: retired.
        case established
        /// Accepts no more requests and waits for its last answers. Final.
        case retired
    }

    /// The keepalive step that is due.
    enum Demand: Equatable {
        /// Nothing is due.
        case nothing
        /// Send a PING.
        case ping
        /// Close the connection: the peer did not answer.
        case dead
    }

    /// Nanoseconds of silence after which a PING is sent.
    static let pingAfter: Int64 = 10_000_000_000
    /// Nanoseconds of silence after the PING, after which the connection counts as dead.
    static let deadAfter: Int64 = 5_000_000_000

    private(set) var phase = Phase.opening
    /// The number of requests that were assigned to the connection and have not ended.
    private(set) var attached = 0
    /// Whether an answer has arrived.
    private(set) var warmed = false
    private(set) var establishedAt: MonotonicTime = 0
    /// When bytes last arrived from the peer.
    private(set) var heardAt: MonotonicTime = 0
    /// When the connection last made progress: an answer arrived, or the handshake was completed.
    private(set) var lastAnswerAt: MonotonicTime = 0
    private(set) var pingedAt: MonotonicTime?
    /// Whether the connection has reached its maximum age; it is drained as soon as its successor has answered.
    private(set) var isOld = false
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; 1 until the setting arrives.
    private(set) var peerLimit = 1
    private let streams: Int

    init(streams: Int) { self.streams = max(streams, 1) }

    /// The number of requests that the connection may have at once.
    var window: Int {
        switch phase {
        case .opening: 1
        case .established: warmed ? min(streams, peerLimit) : min(1, peerLimit)
        case .retired: 0
        }
    }

    /// The number of further requests that the connection accepts.
    var freeSlots: Int { max(window - attached, 0) }

    /// Whether the connection can be closed.
    var isFinished: Bool { phase == .retired && attached == 0 }

    /// Records that a request was assigned to the connection.
    mutating func attach() { attached += 1 }

    /// Records that a request was taken back before any of it was sent.
    mutating func withdraw() { attached -= 1 }

    /// Records that the handshake was completed.
    mutating func establish(now: MonotonicTime) {
        phase = .established
        establishedAt = now
        heardAt = now
        lastAnswerAt = now
    }

    /// Records that bytes arrived from the peer.
    mutating func hear(now: MonotonicTime) {
        heardAt = now
        pingedAt = nil
    }

    /// Records the peer's stream limit.
    mutating func limit(_ streams: UInt32) { peerLimit = Int(min(streams, UInt32(Int32.max))) }

    /// Records that a request got its answer.
    ///
    /// - Returns: whether this was the first answer, which warms the connection.
    mutating func answer(now: MonotonicTime) -> Bool {
        attached -= 1
        lastAnswerAt = now
        defer { warmed = true }
        return !warmed
    }

    /// Records that a request was sent and ended without an answer.
    mutating func fail() {
        attached -= 1
        // A connection that lost its first request has not been shown to work.
        if !warmed { phase = .retired }
    }

    /// Marks the connection as old; see ``isOld``.
    mutating func growOld() { isOld = true }

    /// Stops the connection from accepting requests.
    mutating func retire() { phase = .retired }

    /// Records that a PING was sent.
    mutating func ping(now: MonotonicTime) { pingedAt = now }

    /// Returns the keepalive step that is due now.
    func demand(now: MonotonicTime) -> Demand {
        guard now >= nextDemand else { return .nothing }
        return pingedAt == nil ? .ping : .dead
    }

    /// When the next keepalive step is due if the peer stays silent.
    var nextDemand: MonotonicTime {
        // There is nothing to check before the session is established, or when a retired connection has no requests
        // left.
        guard phase == .established || (phase == .retired && establishedAt > 0 && attached > 0) else { return .max }
        if let pingedAt { return pingedAt + Self.deadAfter }
        return heardAt + Self.pingAfter
    }
}
