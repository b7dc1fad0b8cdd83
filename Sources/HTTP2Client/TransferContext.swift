internal import PushTransport

/// What libcurl's callbacks share with the transport that drives them; one thread uses it.
final class TransferContext {
    /// See ``PushTransport/sendUntil``.
    var sendUntil = ContinuousClock.now.advanced(by: .seconds(100 * 365 * 86_400))

    /// The time at the start of the current round; good enough for deadlines, and not read again for every request.
    var now = monotonicNow()

    /// When something may be overdue next.
    ///
    /// Never later than the truth.
    var nextCheck = MonotonicTime.max

    /// The counters of ``TransportState``; the current connections are counted when asked for.
    var state = TransportState()

    /// Whether the set of watched sockets has changed.
    var socketsChanged = true

    /// Bytes kept of an answer.
    let answerLimit: Int

    /// Milliseconds for TCP_USER_TIMEOUT.
    let tcpUserTimeout: UInt32

    init(_ options: TransportOptions) {
        answerLimit = options.answerLimit
        tcpUserTimeout = UInt32(min(options.tcpUserTimeout.nanoseconds / 1_000_000, Int64(Int32.max)))
    }

    /// Makes sure that ``nextCheck`` is not later than a moment.
    func checkBy(_ moment: MonotonicTime) {
        if moment < nextCheck { nextCheck = moment }
    }
}
