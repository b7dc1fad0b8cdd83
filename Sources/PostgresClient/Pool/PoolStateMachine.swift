/// Decides which caller gets which session of a pool, and when sessions are opened and closed.
///
/// Uses no clock, thread or connection: it receives events with their times and returns the actions to perform. The
/// times may be slightly out of order. An impossible event, such as the return of a session that is not leased, traps.
struct PoolStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The request of one caller; ids rise in the order of arrival.
    struct RequestID: Hashable, Comparable, Sendable {
        let number: Int

        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The id of one session, from the decision to open it to its end; never reused.
    struct SessionID: Hashable, Sendable {
        let number: Int
    }

    /// An action to perform, in the order returned.
    enum Action: Hashable, Sendable {
        /// Open a session; `opened` or `openingFailed` follows.
        case open(SessionID)
        /// Stop the attempt to open it; `opened` or `openingFailed` still follows.
        case stopOpening(SessionID)
        /// Run the caller's work on the session; `givenBack` or `foundStale` follows.
        case lease(SessionID, RequestID)
        /// Close the session; `ended` follows.
        case end(SessionID)
        /// Cancel the session's statement on the server and refuse further ones; `givenBack` still follows.
        case interrupt(SessionID)
        /// Abandon the session's connection; `givenBack` still follows.
        case abandon(SessionID)
        /// Tell the caller that it gets no session.
        case refuse(RequestID, Refusal)
        /// Tell the callers that close the pool that it is closed.
        case closed
    }

    /// Why a caller gets no session.
    enum Refusal: Hashable, Sendable {
        /// The caller cancelled its request.
        case cancelled
        /// The caller's deadline has passed.
        case timedOut
        /// There is no session and none could be opened.
        case unreachable
        /// The pool is closing or closed.
        case closed
    }

    /// A caller's hold on a session.
    struct Lease: Sendable {
        let request: RequestID
        /// When the caller would have stopped waiting, in case it has to wait again.
        let deadline: Instant?
        var interruption = Interruption.none
    }

    /// The progress of ending a lease early.
    ///
    /// `none`, then `asked`, then `abandoned`.
    enum Interruption: Sendable {
        case none
        /// The server was asked to cancel, and has until this time.
        case asked(abandonAt: Instant)
        case abandoned
    }

    /// The state of a session.
    enum Session: Sendable {
        /// Can transition to: idle; ending, if the pool closes; gone, if it failed.
        case opening
        /// Can transition to: leased; ending, by age or if the pool closes.
        case idle(openedAt: Instant, since: Instant)
        /// Can transition to: idle; ending, if it cannot be used again.
        case leased(openedAt: Instant, Lease)
        /// Can transition to: gone. Counted until then, since the server may still have the session.
        case ending
    }

    /// The state of the pool.
    enum Phase: Sendable {
        /// Can transition to: closing, closed.
        case open
        /// Leases may end by themselves until the first time; the pool waits for them until the second. Can transition
        /// to: closed.
        case closing(interruptAt: Instant, giveUpAt: Instant)
        /// Refuses all callers; leases that were given up may still end.
        case closed
    }

    let options: PostgresPoolOptions
    var phase = Phase.open
    var sessions: [SessionID: Session] = [:]
    /// The idle sessions, the most recently used last: it is used next, and the others age.
    var idle: [SessionID] = []
    var leases: [RequestID: SessionID] = [:]
    var waiting = PoolWaitingLine()
    /// Consecutive failed attempts to open a session; attempts in progress at the same time count once.
    var failures = 0
    /// The earliest time of the next attempt, after a failure.
    var retryAt: Instant?
    /// The earliest time at which something may be due; nil if nothing is.
    ///
    /// May be early, if its reason has ceased.
    var earliestDue: Instant?
    private var lastRequest = 0
    private var lastSession = 0

    init(_ options: PostgresPoolOptions) {
        precondition(options.connections > 0, "a pool without connections serves nobody")
        self.options = options
    }

    /// When to call ``tick(at:)`` next; nil means not before another event.
    var nextDeadline: Instant? { earliestDue }

    /// Whether the pool has closed.
    var isClosed: Bool { if case .closed = phase { true } else { false } }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    var openingCount: Int {
        sessions.values.count { if case .opening = $0 { true } else { false } }
    }

    /// Whether some session works, or is believed to.
    var hasLiveSession: Bool { !idle.isEmpty || !leases.isEmpty }

    mutating func newRequest() -> RequestID {
        lastRequest += 1
        return RequestID(number: lastRequest)
    }

    mutating func newSession() -> SessionID {
        lastSession += 1
        return SessionID(number: lastSession)
    }

    /// Makes ``nextDeadline`` no later than `instant`.
    mutating func mind(_ instant: Instant?) {
        guard let instant else { return }
        earliestDue = earliestDue.map { min($0, instant) } ?? instant
    }
}
