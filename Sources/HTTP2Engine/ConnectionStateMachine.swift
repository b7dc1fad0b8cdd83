internal import PushTransport

/// The life of one connection and its window: how many requests it may have at once.
///
/// The window is 1 until the first answer came; from then on it is what the peer allows, and follows it at once. APNs
/// allows 1 until it has seen a good token.
struct ConnectionStateMachine {
    /// Where it is in its life.
    enum Phase {
        /// It resolves, connects or shakes hands. Can transition to: established, retired.
        case opening
        /// Requests can be sent on it. Can transition to: retired.
        case established
        /// Takes no more requests, waits for its last answers. Final.
        case retired
    }

    /// What time demands.
    enum Demand: Equatable {
        /// Nothing yet.
        case nothing
        /// To ask whether the peer is there.
        case ping
        /// To give it up: the peer did not answer.
        case dead
    }

    /// After so many nanoseconds of silence the peer is asked whether it is there.
    static let pingAfter: Int64 = 10_000_000_000
    /// And after so many more it is taken for gone.
    static let deadAfter: Int64 = 5_000_000_000

    private(set) var phase = Phase.opening
    /// Requests that were handed to it and have not ended.
    private(set) var attached = 0
    /// Whether an answer came.
    private(set) var warmed = false
    private(set) var establishedAt: MonotonicTime = 0
    /// When anything was last heard from the peer.
    private(set) var heardAt: MonotonicTime = 0
    /// When it was last seen to do its work: a request got its answer, or the handshake was done.
    private(set) var lastAnswerAt: MonotonicTime = 0
    private(set) var pingedAt: MonotonicTime?
    /// It has had its time, and goes as soon as its successor has answered.
    private(set) var isOld = false
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; 1 is assumed until it is told.
    private(set) var peerLimit = 1
    private let streams: Int

    init(streams: Int) { self.streams = max(streams, 1) }

    /// How many requests it may have at once.
    var window: Int {
        switch phase {
        case .opening: 1
        case .established: warmed ? min(streams, peerLimit) : min(1, peerLimit)
        case .retired: 0
        }
    }

    /// How many more requests it takes.
    var freeSlots: Int { max(window - attached, 0) }

    /// Whether nothing holds it back from being closed.
    var isFinished: Bool { phase == .retired && attached == 0 }

    /// A request was handed to it.
    mutating func attach() { attached += 1 }

    /// A request was taken back before anything of it was sent.
    mutating func withdraw() { attached -= 1 }

    /// The handshake is done.
    mutating func establish(now: MonotonicTime) {
        phase = .established
        establishedAt = now
        heardAt = now
        lastAnswerAt = now
    }

    /// Bytes came from the peer.
    mutating func hear(now: MonotonicTime) {
        heardAt = now
        pingedAt = nil
    }

    /// The peer said how many streams it allows.
    mutating func limit(_ streams: UInt32) { peerLimit = Int(min(streams, UInt32(Int32.max))) }

    /// A request got its answer.
    ///
    /// - Returns: whether this warmed the connection.
    mutating func answer(now: MonotonicTime) -> Bool {
        attached -= 1
        lastAnswerAt = now
        defer { warmed = true }
        return !warmed
    }

    /// A request that was sent ended without an answer.
    mutating func fail() {
        attached -= 1
        // Nothing is known about a connection whose first request got lost.
        if !warmed { phase = .retired }
    }

    /// Its time is over; see ``isOld``.
    mutating func growOld() { isOld = true }

    /// Takes no more requests.
    mutating func retire() { phase = .retired }

    /// A PING went out.
    mutating func ping(now: MonotonicTime) { pingedAt = now }

    /// What time demands now.
    func demand(now: MonotonicTime) -> Demand {
        guard now >= nextDemand else { return .nothing }
        return pingedAt == nil ? .ping : .dead
    }

    /// When time will demand something, if nothing is heard until then.
    var nextDemand: MonotonicTime {
        // Without a session yet, or with nothing outstanding on the way out, there is nobody to ask.
        guard phase == .established || (phase == .retired && establishedAt > 0 && attached > 0) else { return .max }
        if let pingedAt { return pingedAt + Self.deadAfter }
        return heardAt + Self.pingAfter
    }
}
