/// Tells until when this daemon may submit requests for the batches it owns.
///
/// All times are CLOCK_BOOTTIME in microseconds: it goes on while the machine sleeps, so that a process that slept sends
/// nothing stale. The lease itself is granted in database time; counting its length from before the renewal was sent makes
/// the end known here never later than the end the database knows.
public struct LeaseGuard: Equatable, Sendable {
    /// The length of the lease.
    public static let length: Microseconds = 15 * Micros.second
    /// The time between renewals.
    public static let renewalInterval: Microseconds = 5 * Micros.second
    /// Nothing is submitted this long before the lease's end.
    public static let margin: Microseconds = Micros.second
    /// Nothing is submitted from this long after the control connection was lost.
    public static let controlGrace: Microseconds = Micros.second

    /// Nothing is submitted this long after the last look at the cancellations began: nothing starts later than 1 s after
    /// a cancellation's commit.
    public static let cancelPatience: Microseconds = Micros.second

    /// Whether the lease can still be renewed.
    private enum State: Equatable, Sendable {
        /// No lease was granted yet. Can transition to: ``held(end:)``, ``ended(at:)``.
        case none
        /// Granted until `end`. Can transition to: itself with a later end; ``ended(at:)``.
        case held(end: Microseconds)
        /// The control connection was lost, nothing is submitted from `at` on. No exit: whoever connects again does so
        /// under a new owner number, with a new guard.
        case ended(at: Microseconds)
    }

    /// Whether the lease can still be renewed.
    private var state = State.none
    private var cancelsReadAt: Microseconds?

    /// A guard without a lease: nothing may be submitted.
    public init() {}

    /// The database granted a renewal.
    ///
    /// Answers may come in any order; none shortens the lease.
    ///
    /// - Parameter start: the time, read before the database was asked for it.
    public mutating func renewSucceeded(startedAt start: Microseconds) {
        let end = start.addingClamping(Self.length)
        switch state {
        case .none: state = .held(end: end)
        case .held(let known): state = .held(end: max(known, end))
        case .ended: break
        }
    }

    /// The control connection was lost; also the session lock, and with it soon the batches.
    ///
    /// - Parameter now: when that was noticed.
    public mutating func controlLost(at now: Microseconds) {
        let grace = now.addingClamping(Self.controlGrace)
        switch state {
        case .none: state = .ended(at: now)
        case .held(let end): state = .ended(at: min(end.subtractingClamping(Self.margin), grace))
        case .ended(let known): state = .ended(at: min(known, grace))
        }
    }

    /// All cancellations that were committed before a time are known.
    ///
    /// - Parameter start: when the look at them began.
    public mutating func cancelsRead(startedAt start: Microseconds) {
        cancelsReadAt = max(cancelsReadAt ?? start, start)
    }

    /// The first time at which nothing may be submitted until the cancellations have been looked at again; nil before they
    /// were, and without a lease.
    ///
    /// A process that was stopped for less than its lease still owns its batches, and may not go on with them unasked.
    public var startsUntil: Microseconds? {
        guard let submitsUntil, let cancelsReadAt else { return nil }
        return min(submitsUntil, cancelsReadAt.addingClamping(Self.cancelPatience))
    }

    /// The first time at which nothing may be submitted, as far as known now; nil without a lease.
    public var submitsUntil: Microseconds? {
        switch state {
        case .none: nil
        case .held(let end): end.subtractingClamping(Self.margin)
        case .ended(let at): at
        }
    }
}
