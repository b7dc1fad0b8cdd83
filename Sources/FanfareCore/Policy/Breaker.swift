/// Stops sending to a provider that fails or asks for a pause, and probes until it works again.
///
/// There is one for each app and provider. It opens at 50 % failures among at least 20 answers in 10 s, and when the
/// provider refuses the sender or asks for a pause. Then it admits one request at a time as a probe:
///
/// | opened by | first probe | next probes | closes after |
/// |---|---|---|---|
/// | failures | 5 s | waits double up to 60 s | 3 accepted |
/// | a refused sender | 5 s | every 5 s | 1 accepted |
/// | a pause | when it is over | waits double up to 60 s | 3 accepted |
///
/// After 5 failed connects in a row, one request at a time is admitted in order to connect: connecting is the probe,
/// which the transport paces, and it costs the provider nothing. The first established connection closes the breaker.
///
/// Times are microseconds of any monotonic clock.
public struct Breaker: Equatable, Sendable {
    /// The number of answers below which the share of failures is not evaluated.
    public static let leastAnswers = 20
    /// The share of failures, in percent, that opens the breaker.
    public static let failurePercent = 50
    /// The number of failed connects in a row after which only one request at a time is admitted.
    public static let failedConnects = 5
    /// The number of accepted probes that close it.
    public static let acceptedProbes = 3
    /// The first wait before a probe, and the longest.
    public static let waits: ClosedRange<Microseconds> = 5 * Micros.second...60 * Micros.second
    /// The time after which a probe without a result counts as failed; longer than the request timeout of 15 s.
    public static let probePatience: Microseconds = 20 * Micros.second

    /// The period over which answers count.
    private static let windowWidth = 10 * Micros.second
    /// The number of devices above which those that failed longer ago are dropped from the list.
    private static let failedLimit = 1000

    /// The state of the breaker.
    public enum State: Equatable, Sendable {
        /// Everything is admitted. Can transition to: ``open(until:wait:)``, ``unreachable(since:)``.
        case closed
        /// No connection can be established. One request at a time is admitted; `since` is the time of the present one,
        /// nil if there is none.
        ///
        /// Can transition to: ``closed``, when a connection is established; ``open(until:wait:)``.
        case unreachable(since: Microseconds?)
        /// Nothing is admitted. Can transition to: ``probing(since:accepted:wait:)``, at `until`.
        case open(until: Microseconds, wait: Microseconds)
        /// One request at a time is admitted; `since` is the time of the one in flight, nil if there is none.
        ///
        /// Can transition to: ``closed``, after three acceptances, or one if the sender was refused;
        /// ``open(until:wait:)`` with a doubled wait, after a failure.
        case probing(since: Microseconds?, accepted: Int, wait: Microseconds)
    }

    /// The reason why requests are held back.
    public enum Cause: Equatable, Sendable {
        /// This many of the answers in 10 s were failures.
        case failures(Int, of: Int)
        /// This many connects failed in a row.
        case unreachable(connects: Int)
        /// The provider refused the sender, or the topic.
        case refused
        /// The provider asked for a pause.
        case asked(Microseconds)
    }

    /// The amount that may be sent now.
    public enum Admission: Equatable, Sendable {
        /// Everything.
        case all
        /// One request; its result must be reported with ``Breaker/probeEnded(_:at:)``.
        case probe
        /// Nothing before this time.
        case nothing(until: Microseconds)
        /// Nothing until the present probe ends.
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

    /// The state of the breaker.
    public private(set) var state = State.closed
    /// The reason why it opened first; nil while it is closed.
    public private(set) var cause: Cause?
    private var window = SlidingWindow<Tally>(width: Self.windowWidth, buckets: 10)
    private var connectsFailed = 0
    /// The devices that failed or were throttled, with the time at which each was last counted.
    private var failed: [Int64: Microseconds] = [:]

    /// Makes a closed breaker.
    public init() {}

    /// Asks for permission to send; ``Admission/probe`` is given to one caller at a time.
    ///
    /// - Parameter now: the time.
    /// - Returns: the amount that may be sent.
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

    /// Counts the health that ordinary attempts show.
    ///
    /// Ignored unless closed: late answers to requests from before it opened are no evidence, only probes are.
    ///
    /// - Parameters:
    ///   - health: the health.
    ///   - count: the number of attempts.
    ///   - now: the time.
    public mutating func record(_ health: ProviderHealth, count: Int = 1, at now: Microseconds) {
        guard count > 0, state == .closed else { return }
        window.add(Tally(answers: count, failures: health == .failed ? count : 0), at: now)
        let recent = window.total(at: now)
        if recent.answers >= Self.leastAnswers, recent.failures * 100 >= recent.answers * Self.failurePercent {
            open(for: Self.waits.lowerBound, at: now, because: .failures(recent.failures, of: recent.answers))
        }
    }

    /// Counts a device whose push failed, or that the provider throttles, as a failure: once in 10 s for each device.
    ///
    /// One device that fails or is throttled says nothing about the others. If half of the answers are about such
    /// devices, the provider is at fault.
    ///
    /// - Parameters:
    ///   - device: the device's id.
    ///   - now: the time.
    public mutating func failed(device: Int64, at now: Microseconds) {
        guard state == .closed else { return }
        let since = now.subtractingClamping(Self.windowWidth)
        if let last = failed[device], last > since { return }
        if failed.count >= Self.failedLimit { failed = failed.filter { $0.value > since } }
        failed[device] = now
        record(.failed, at: now)
    }

    /// Reports the result of the request admitted as ``Admission/probe``; ignored if there is none.
    ///
    /// - Parameters:
    ///   - health: the health that it shows; ``ProviderHealth/neutral`` also if nothing was sent.
    ///   - now: the time.
    public mutating func probeEnded(_ health: ProviderHealth, at now: Microseconds) {
        if case .unreachable(_?) = state {
            state = .unreachable(since: nil)
            guard health == .accepted || health == .failed else { return }
            // The probe was sent, so there is a connection.
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

    /// Holds everything back for the time that the provider asked the sender to wait.
    ///
    /// - Parameters:
    ///   - wait: the wait; one that ends before the present one is ignored.
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
    /// A probe that could not connect was not sent and is no evidence; the next one follows when the transport allows
    /// another connect.
    public mutating func connectFailed() {
        connectsFailed += 1
        guard state == .closed && connectsFailed >= Self.failedConnects else { return }
        state = .unreachable(since: nil)
        cause = .unreachable(connects: connectsFailed)
    }

    /// Reports that the provider refused the sender itself, so that the next push would be refused too.
    ///
    /// Opens the breaker at once.
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
