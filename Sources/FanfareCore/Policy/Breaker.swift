/// Stops sending to a provider that fails or asks for a pause, and finds out when it works again.
///
/// One for each (app, provider). Opens at 50 % failures among 20 or more answers in 10 s, or when the provider refuses the
/// sender, or asks for a pause. Then one request at a time is the probe:
///
/// | opened by | first probe | next probes | closes after |
/// |---|---|---|---|
/// | failures | 5 s | waits double up to 60 s | 3 accepted |
/// | a refused sender | 5 s | every 5 s | 1 accepted |
/// | a pause | when it is over | waits double up to 60 s | 3 accepted |
///
/// After 5 failed connects in a row one request at a time is let through, to connect for: connecting is the probe, which the
/// transport paces, and costs the provider nothing. The first connection that stands closes it.
///
/// Times are microseconds of any steady clock.
public struct Breaker: Equatable, Sendable {
    /// Answers needed before a share of failures means anything.
    public static let leastAnswers = 20
    /// The share of failures, in percent, that opens it.
    public static let failurePercent = 50
    /// Failed connects in a row after which only one request at a time is let through.
    public static let failedConnects = 5
    /// Accepted probes that close it.
    public static let acceptedProbes = 3
    /// The first wait before a probe, and the longest.
    public static let waits: ClosedRange<Microseconds> = 5 * Micros.second...60 * Micros.second
    /// A probe without any result counts as failed after this; longer than the request deadline of 15 s.
    public static let probePatience: Microseconds = 20 * Micros.second

    /// How far back answers count.
    private static let windowWidth = 10 * Micros.second
    /// From so many devices on, those that failed longer ago are forgotten.
    private static let failedLimit = 1000

    /// What the breaker lets through.
    public enum State: Equatable, Sendable {
        /// Everything is let through. Can transition to: ``open(until:wait:)``, ``unreachable(since:)``.
        case closed
        /// No connection can be had. One request at a time is let through; `since` is when the one under way was, nil while
        /// none is.
        ///
        /// Can transition to: ``closed``, when a connection stands; ``open(until:wait:)``.
        case unreachable(since: Microseconds?)
        /// Nothing is let through. Can transition to: ``probing(since:accepted:wait:)``, when `until` has come.
        case open(until: Microseconds, wait: Microseconds)
        /// One request at a time is let through; `since` is when the one in flight was, nil while none is.
        ///
        /// Can transition to: ``closed``, after three accepted, or one where the sender was refused; ``open(until:wait:)`` with a doubled wait, after a failure.
        case probing(since: Microseconds?, accepted: Int, wait: Microseconds)
    }

    /// What keeps requests back.
    public enum Cause: Equatable, Sendable {
        /// So many of the answers of 10 s were failures.
        case failures(Int, of: Int)
        /// So many connects failed in a row.
        case unreachable(connects: Int)
        /// The provider refused the sender, or the topic.
        case refused
        /// The provider asked for a pause.
        case asked(Microseconds)
    }

    /// How much may be sent now.
    public enum Admission: Equatable, Sendable {
        /// As much as there is.
        case all
        /// One request; what became of it must be reported by ``Breaker/probeEnded(_:at:)``.
        case probe
        /// Nothing before this time.
        case nothing(until: Microseconds)
        /// Nothing while a probe is awaited.
        case awaitsProbe
    }

    private struct Tally: WindowTally {
        var answers = 0
        var failures = 0

        static func += (tally: inout Tally, other: Tally) {
            tally.answers += other.answers
            tally.failures += other.failures
        }
    }

    /// What the breaker lets through.
    public private(set) var state = State.closed
    /// Why it was opened first; nil while it is closed.
    public private(set) var cause: Cause?
    private var window = SlidingWindow<Tally>(width: Self.windowWidth, buckets: 10)
    private var connectsFailed = 0
    /// The devices that failed or were asked to wait, and when that was last counted.
    private var failed: [Int64: Microseconds] = [:]

    /// A closed breaker.
    public init() {}

    /// Asks to send; ``Admission/probe`` is given to one caller at a time.
    ///
    /// - Parameter now: the time.
    /// - Returns: how much may be sent.
    public mutating func admit(at now: Microseconds) -> Admission {
        switch state {
        case .closed:
            return .all
        case .open(let until, let wait):
            guard now >= until else { return .nothing(until: until) }
            state = .probing(since: now, accepted: 0, wait: wait)
            return .probe
        case .probing(nil, let accepted, let wait):
            state = .probing(since: now, accepted: accepted, wait: wait)
            return .probe
        case .probing(let since?, _, let wait):
            guard now >= since.addingClamping(Self.probePatience) else { return .awaitsProbe }
            reopen(after: wait, at: now)
            return admit(at: now)
        case .unreachable(let since):
            if let since, now < since.addingClamping(Self.probePatience) { return .awaitsProbe }
            state = .unreachable(since: now)
            return .probe
        }
    }

    /// Counts what ordinary attempts said about the provider.
    ///
    /// Ignored unless closed: late answers to what was sent before it opened prove nothing, only probes do.
    ///
    /// - Parameters:
    ///   - health: what they said.
    ///   - count: how many attempts said it.
    ///   - now: the time.
    public mutating func record(_ health: ProviderHealth, count: Int = 1, at now: Microseconds) {
        guard count > 0, state == .closed else { return }
        window.add(Tally(answers: count, failures: health == .failed ? count : 0), at: now)
        let recent = window.total(at: now)
        if recent.answers >= Self.leastAnswers, recent.failures * 100 >= recent.answers * Self.failurePercent {
            open(for: Self.waits.lowerBound, at: now, because: .failures(recent.failures, of: recent.answers))
        }
    }

    /// Counts a device whose push failed, or that a service asks to wait, as a failure: once in 10 s for each device.
    ///
    /// One device that fails or gets too much says nothing of the others; when half of what is answered is about devices that
    /// fail, it is the service.
    ///
    /// - Parameters:
    ///   - device: which.
    ///   - now: the time.
    public mutating func failed(device: Int64, at now: Microseconds) {
        guard state == .closed else { return }
        let since = now.subtractingClamping(Self.windowWidth)
        if let last = failed[device], last > since { return }
        if failed.count >= Self.failedLimit { failed = failed.filter { $0.value > since } }
        failed[device] = now
        record(.failed, at: now)
    }

    /// Reports what became of the one request let through as ``Admission/probe``; ignored unless one is awaited.
    ///
    /// - Parameters:
    ///   - health: what it said; ``ProviderHealth/neutral`` also where nothing was sent after all.
    ///   - now: the time.
    public mutating func probeEnded(_ health: ProviderHealth, at now: Microseconds) {
        if case .unreachable(_?) = state {
            state = .unreachable(since: nil)
            guard health == .accepted || health == .failed else { return }
            // It was sent, so a connection stood.
            connected()
            record(health, at: now)
        }
        guard case .probing(_?, let accepted, let wait) = state else { return }
        switch health {
        case .failed:
            reopen(after: wait, at: now)
        case .neutral, .throttled:
            state = .probing(since: nil, accepted: accepted, wait: wait)
        case .accepted where accepted + 1 >= Self.acceptedProbes || cause == .refused:
            self = Breaker()
        case .accepted:
            state = .probing(since: nil, accepted: accepted + 1, wait: wait)
        }
    }

    /// Keeps everything back for as long as the provider asked all of the sender's requests to wait.
    ///
    /// - Parameters:
    ///   - wait: how long; a wait that ends before the one under way changes nothing.
    ///   - now: the time.
    public mutating func hold(for wait: Microseconds, at now: Microseconds) {
        let until = now.addingClamping(wait)
        if case .open(let end, _) = state, end >= until { return }
        state = .open(until: until, wait: Self.waits.lowerBound)
        cause = cause ?? .asked(wait)
    }

    /// Reports a connection that was opened.
    public mutating func connected() {
        connectsFailed = 0
        if case .unreachable = state { self = Breaker() }
    }

    /// Reports a connection that could not be opened.
    ///
    /// A probe that met it was not sent, and says nothing of answers: it is followed by the next as soon as that may connect.
    public mutating func connectFailed() {
        connectsFailed += 1
        guard state == .closed && connectsFailed >= Self.failedConnects else { return }
        state = .unreachable(since: nil)
        cause = .unreachable(connects: connectsFailed)
    }

    /// Reports that the provider refused the sender itself: the next push would be refused too.
    ///
    /// Opens at once.
    ///
    /// - Parameter now: the time.
    public mutating func refused(at now: Microseconds) {
        if case .open = state { return }
        open(for: Self.waits.lowerBound, at: now, because: .refused)
    }

    private mutating func reopen(after wait: Microseconds, at now: Microseconds) {
        open(for: min(wait * 2, Self.waits.upperBound), at: now)
    }

    private mutating func open(for wait: Microseconds, at now: Microseconds, because cause: Cause? = nil) {
        connectsFailed = 0
        self.cause = self.cause ?? cause
        state = .open(until: now.addingClamping(wait), wait: wait)
    }
}
