internal import PushTransport

/// The life of one connection and its window: how many requests it may have at once.
///
/// The window starts at 1, because libcurl assumes 100 streams until the peer's SETTINGS arrive and APNs allows 1 until
/// it has seen a good token. It grows by one with each answer, and stops growing when requests begin to wait inside
/// libcurl: that is where the peer's limit is, which libcurl does not tell.
struct ConnectionStateMachine {
    /// Where it is in its life.
    enum Phase {
        /// The first request is resolving, connecting or shaking hands. Can transition to: established, retired.
        case opening
        /// A request went out on it. Can transition to: retired.
        case established
        /// Takes no more requests, waits for its last answers. Final.
        case retired
    }

    private(set) var phase = Phase.opening
    private(set) var window = 1
    /// Requests handed to libcurl and not yet finished.
    private(set) var attached = 0
    /// Those of them that went out.
    private(set) var started = 0
    /// Whether an answer came, so that the peer's SETTINGS are known.
    private(set) var warmed = false
    private(set) var wasEstablished = false
    private(set) var establishedAt: MonotonicTime = 0
    /// When it was last seen to work.
    private(set) var lastAnswerAt: MonotonicTime = 0
    /// It has had its time, and goes as soon as its successor has answered.
    private(set) var isOld = false
    private var streams: Int

    init(streams: Int) { self.streams = max(streams, 1) }

    /// How many more requests it takes.
    var freeSlots: Int { phase == .retired ? 0 : max(window - attached, 0) }

    /// Whether nothing holds it back from being closed.
    var isFinished: Bool { phase == .retired && attached == 0 }

    /// Whether it stands and has nothing to do.
    var isIdle: Bool { phase == .established && attached == 0 }

    /// A request was handed to libcurl.
    mutating func attach() { attached += 1 }

    /// libcurl wants a socket.
    ///
    /// - Returns: whether it may have one. Only the first request may connect; a later request means that libcurl lost the
    ///   connection, or may not use it after GOAWAY, and a new one needs a new warm-up.
    mutating func permitSocket() -> Bool {
        guard phase != .opening else { return true }
        phase = .retired
        return false
    }

    /// A request has come so far that the connection must stand.
    ///
    /// - Returns: whether it is the first to get there.
    mutating func establish(now: MonotonicTime) -> Bool {
        guard !wasEstablished else { return false }
        wasEstablished = true
        if phase == .opening { phase = .established }
        establishedAt = now
        lastAnswerAt = now
        return true
    }

    /// A request goes out now.
    mutating func start() { started += 1 }

    /// A request got its answer.
    ///
    /// - Returns: whether this warmed the connection.
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

    /// A request ended without an answer.
    mutating func fail(wasStarted: Bool) {
        detach(wasStarted: wasStarted)
        // Nothing is known about a connection whose first request got lost.
        if wasStarted && !warmed { phase = .retired }
        if !wasEstablished { phase = .retired }
    }

    /// A request was taken back before it went out, for a reason of our own.
    mutating func withdraw() { detach(wasStarted: false) }

    /// Its time is over; see ``isOld``.
    mutating func growOld() { isOld = true }

    /// Its peer speaks HTTP/1.1: one request at a time.
    mutating func takeTurns() {
        streams = 1
        window = 1
    }

    /// Takes no more requests.
    mutating func retire() { phase = .retired }

    private mutating func detach(wasStarted: Bool) {
        attached -= 1
        if wasStarted { started -= 1 }
    }
}
