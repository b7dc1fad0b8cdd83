/// Decides who gets which session of a pool, when sessions are opened and when they end.
///
/// Knows no clock, thread or connection: it is told what happened and when, and answers what is to be done. The times it
/// is given may be slightly out of order. An event that cannot be, such as a session given back that nobody has, traps.
struct PoolStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// One caller that wants a session; rises in the order of coming.
    struct RequestID: Hashable, Comparable, Sendable {
        let number: Int

        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// One session, from the decision to open it to its end; never used twice.
    struct SessionID: Hashable, Sendable {
        let number: Int
    }

    /// What is to be done, in this order.
    enum Action: Hashable, Sendable {
        /// Open a session; `opened` or `openingFailed` follows.
        case open(SessionID)
        /// Stop opening it; `opened` or `openingFailed` follows all the same.
        case stopOpening(SessionID)
        /// Let the caller's work run on the session; `givenBack` or `foundStale` follows.
        case lease(SessionID, RequestID)
        /// Close the session; `ended` follows.
        case end(SessionID)
        /// Cancel on the server what runs on the session, and let nothing more be sent; it is given back all the same.
        case interrupt(SessionID)
        /// Cut the session off; it is given back all the same.
        case abandon(SessionID)
        /// Tell the caller that it gets no session.
        case refuse(RequestID, Refusal)
        /// Tell those that close the pool that it is over.
        case closed
    }

    /// Why a caller gets no session.
    enum Refusal: Hashable, Sendable {
        /// It no longer wants one.
        case cancelled
        /// Its time is over.
        case timedOut
        /// There is no session and none could be opened.
        case unreachable
        /// The pool closes or is closed.
        case closed
    }

    /// A caller's hold on a session.
    struct Lease: Sendable {
        let request: RequestID
        /// When the caller would have stopped waiting: it may have to wait again.
        let deadline: Instant?
        var interruption = Interruption.none
    }

    /// Whether a lease is being ended before its time.
    ///
    /// `none`, then `asked`, then `abandoned`.
    enum Interruption: Sendable {
        case none
        /// The server was asked to end it, and has until then.
        case asked(abandonAt: Instant)
        case abandoned
    }

    /// Where a session is in its life.
    enum Session: Sendable {
        /// Can transition to: idle; ending, if the pool closes; gone, if it failed.
        case opening
        /// Can transition to: leased; ending, by age or if the pool closes.
        case idle(openedAt: Instant, since: Instant)
        /// Can transition to: idle; ending, if it is of no more use.
        case leased(openedAt: Instant, Lease)
        /// Can transition to: gone. Counts until then, since the server may still have it.
        case ending
    }

    /// Where the pool is in its life.
    enum Phase: Sendable {
        /// Can transition to: closing, closed.
        case open
        /// Leases may end by themselves until the first time, and are waited for until the second. Can transition to: closed.
        case closing(interruptAt: Instant, giveUpAt: Instant)
        /// Refuses everybody; what was given up may still end.
        case closed
    }

    let options: PostgresPoolOptions
    var phase = Phase.open
    var sessions: [SessionID: Session] = [:]
    /// Those that are idle, the one used last at the end: it is used next, and the others grow old.
    var idle: [SessionID] = []
    var leases: [RequestID: SessionID] = [:]
    var waiting = PoolWaitingLine()
    /// Failed attempts to open a session since the last that did not, those at the same time counted once.
    var failures = 0
    /// Not before then another attempt, after a failure.
    var retryAt: Instant?
    /// Nothing is due before, and perhaps nothing then, where it has ceased to be due; nil: nothing at all.
    var earliestDue: Instant?
    private var lastRequest = 0
    private var lastSession = 0

    init(_ options: PostgresPoolOptions) {
        precondition(options.connections > 0, "a pool without connections serves nobody")
        self.options = options
    }

    /// When to call ``tick(at:)`` next; nil until another event.
    var nextDeadline: Instant? { earliestDue }

    /// Whether the pool has closed.
    var isClosed: Bool { if case .closed = phase { true } else { false } }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    var openingCount: Int {
        sessions.values.count { if case .opening = $0 { true } else { false } }
    }

    /// Whether some session works, or is thought to.
    var hasLiveSession: Bool { !idle.isEmpty || !leases.isEmpty }

    mutating func newRequest() -> RequestID {
        lastRequest += 1
        return RequestID(number: lastRequest)
    }

    mutating func newSession() -> SessionID {
        lastSession += 1
        return SessionID(number: lastSession)
    }

    /// Has ``tick(at:)`` called at that time at the latest.
    mutating func mind(_ instant: Instant?) {
        guard let instant else { return }
        earliestDue = earliestDue.map { min($0, instant) } ?? instant
    }
}
