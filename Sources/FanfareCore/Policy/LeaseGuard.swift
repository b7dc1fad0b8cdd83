/// Determines until when this daemon may submit requests for the batches that it owns.
///
/// All times are CLOCK_BOOTTIME in microseconds, which continues while the machine sleeps, so that a process that slept
/// sends nothing stale. The lease is granted in database time. Its length is counted from before the renewal was sent,
/// so the end assumed here is never later than the end in the database.
public struct LeaseGuard: Equatable, Sendable {
    /// The length of the lease.
    public static let length: Microseconds = 15 * Micros.second
    /// The time between renewals.
    public static let renewalInterval: Microseconds = 5 * Micros.second
    /// The margin before the lease's end in which nothing is submitted.
    public static let margin: Microseconds = Micros.second
    /// The time after the loss of the control connection from which nothing is submitted.
    public static let controlGrace: Microseconds = Micros.second

    /// The time after the start of the last read of the cancellations from which nothing is submitted, so that no
    /// request starts later than 1 s after a cancellation's commit.
    public static let cancelPatience: Microseconds = Micros.second

    /// The state of the lease.
    private enum State: Equatable, Sendable {
        /// No lease was granted yet. Can transition to: ``held(end:)``, ``ended(at:)``.
        case none
        /// Granted until `end`. Can transition to: itself with a later end; ``ended(at:)``.
        case held(end: Microseconds)
        /// The control connection was lost; nothing is submitted from `at` on. No exit: a new connection gets a new
        /// owner number and a new guard.
        case ended(at: Microseconds)
    }

    /// The state of the lease.
    private var state = State.none
    private var cancelsReadAt: Microseconds?

    /// Makes a guard without a lease: nothing may be submitted.
    public init() {}

    /// Handles a renewal that the database granted.
    ///
    /// Answers may arrive in any order; none shortens the lease.
    ///
    /// - Parameter start: the time read before the renewal was sent.
    public mutating func renewSucceeded(startedAt start: Microseconds) {
        let end = start.addingClamping(Self.length)
        switch state {
        case .none: state = .held(end: end)
        case .held(let known): state = .held(end: max(known, end))
        case .ended: break
        }
    }

    /// Handles the loss of the control connection: the session lock is lost, and soon the batches are too.
    ///
    /// - Parameter now: when the loss was noticed.
    public mutating func controlLost(at now: Microseconds) {
        let grace = now.addingClamping(Self.controlGrace)
        switch state {
        case .none: state = .ended(at: now)
        case .held(let end): state = .ended(at: min(end.subtractingClamping(Self.margin), grace))
        case .ended(let known): state = .ended(at: min(known, grace))
        }
    }

    /// Handles a read of the cancellations: all that were committed before its start are known.
    ///
    /// - Parameter start: when the read began.
    public mutating func cancelsRead(startedAt start: Microseconds) {
        cancelsReadAt = max(cancelsReadAt ?? start, start)
    }

    /// The time from which nothing may be submitted until the cancellations are read again; nil before the first read,
    /// and without a lease.
    ///
    /// A process that was stopped for less than its lease still owns its batches, but must read the cancellations
    /// before it continues.
    public var startsUntil: Microseconds? {
        guard let submitsUntil, let cancelsReadAt else { return nil }
        return min(submitsUntil, cancelsReadAt.addingClamping(Self.cancelPatience))
    }

    /// The time from which nothing may be submitted, as known now; nil without a lease.
    public var submitsUntil: Microseconds? {
        switch state {
        case .none: nil
        case .held(let end): end.subtractingClamping(Self.margin)
        case .ended(let at): at
        }
    }
}
