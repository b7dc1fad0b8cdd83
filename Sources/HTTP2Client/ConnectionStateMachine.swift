internal import PushTransport

/// The life of one connection and its window: the number of requests that it may have at once.
///
/// The window starts at 1, because libcurl assumes 100 streams until the peer's SETTINGS arrive, and APNs allows 1
/// until it has seen a valid token. It grows by one with each answer, and stops growing when requests begin to wait
/// inside libcurl. The peer's limit is reached then; libcurl does not report the limit itself.
struct ConnectionStateMachine {
    /// The phase of a connection.
    enum Phase {
        /// The first request is resolving, connecting or shaking hands. Can transition to: established, retired.
        case opening
        /// A request was sent on it. Can transition to: retired.
        case established
        /// Accepts no more requests and waits for its last answers. Final.
        case retired
    }

    private(set) var phase = Phase.opening
    private(set) var window = 1
    /// The number of requests that were handed to libcurl and have not finished.
    private(set) var attached = 0
    /// The number of those that were sent.
    private(set) var started = 0
    /// Whether an answer has arrived, which means that the peer's SETTINGS are known.
    private(set) var warmed = false
    private(set) var wasEstablished = false
    private(set) var establishedAt: MonotonicTime = 0
    /// When the connection last made progress.
    private(set) var lastAnswerAt: MonotonicTime = 0
    /// Whether the connection has reached its maximum age; it is drained as soon as its successor has answered.
    private(set) var isOld = false
    private var streams: Int

    init(streams: Int) { self.streams = max(streams, 1) }

    /// The number of further requests that the connection accepts.
    var freeSlots: Int { phase == .retired ? 0 : max(window - attached, 0) }

    /// Whether the connection can be closed.
    var isFinished: Bool { phase == .retired && attached == 0 }

    /// Whether the connection is established and has no requests.
    var isIdle: Bool { phase == .established && attached == 0 }

    /// Records that a request was handed to libcurl.
    mutating func attach() { attached += 1 }

    /// Decides whether libcurl may open a socket.
    ///
    /// - Returns: whether it may. Only the first request may connect. If a later request needs a socket, libcurl has
    ///   lost the connection or may not use it after GOAWAY, and a new connection needs a new warm-up.
    mutating func permitSocket() -> Bool {
        guard phase != .opening else { return true }
        phase = .retired
        return false
    }

    /// Records that a request has reached a stage that requires an established connection.
    ///
    /// - Returns: whether it is the first such request.
    mutating func establish(now: MonotonicTime) -> Bool {
        guard !wasEstablished else { return false }
        wasEstablished = true
        if phase == .opening { phase = .established }
        establishedAt = now
        lastAnswerAt = now
        return true
    }

    /// Records that a request is sent now.
    mutating func start() { started += 1 }

    /// Records that a request got its answer.
    ///
    /// - Returns: whether this was the first answer, which warms the connection.
    mutating func answer(now: MonotonicTime) -> Bool {
        detach(wasStarted: true)
        lastAnswerAt = now
        let waiting = attached - started
        if waiting == 0 {
            window = min(window + 1, streams)
        } else if waiting > 1 {
            window = max(window - 1, 1)
        }
        defer { warmed = true }
        return !warmed
    }

    /// Records that a request ended without an answer.
    mutating func fail(wasStarted: Bool) {
        detach(wasStarted: wasStarted)
        // A connection that lost its first request has not been shown to work.
        if wasStarted && !warmed { phase = .retired }
        if !wasEstablished { phase = .retired }
    }

    /// Records that a request was taken back before it was sent, for a reason other than a failure.
    mutating func withdraw() { detach(wasStarted: false) }

    /// Marks the connection as old; see ``isOld``.
    mutating func growOld() { isOld = true }

    /// Limits the connection to one request at a time, because its peer speaks HTTP/1.1.
    mutating func takeTurns() {
        streams = 1
        window = 1
    }

    /// Stops the connection from accepting requests.
    mutating func retire() { phase = .retired }

    private mutating func detach(wasStarted: Bool) {
        attached -= 1
        if wasStarted { started -= 1 }
    }
}
