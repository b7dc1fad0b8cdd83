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

    /// Where the transport sends.
    let endpoint: Endpoint

    /// What its peer may be and do.
    let rules: OriginRules

    /// Bytes kept of an answer.
    let answerLimit: Int

    /// Bytes read of an answer's header and of its body, each; what exceeds them ends the answer.
    let readLimit: Int

    /// Milliseconds for TCP_USER_TIMEOUT.
    let tcpUserTimeout: UInt32

    init(_ endpoint: Endpoint, _ options: TransportOptions, _ rules: OriginRules) {
        self.endpoint = endpoint
        self.rules = rules
        answerLimit = options.answerLimit
        // A configured provider may say as much as it likes; a stranger's server does not fill memory or line.
        readLimit = rules.destinations == nil ? .max : TransportOptions.readLimit(keeping: options.answerLimit)
        tcpUserTimeout = options.tcpUserTimeoutMilliseconds
    }

    /// Makes sure that ``nextCheck`` is not later than a moment.
    func checkBy(_ moment: MonotonicTime) {
        if moment < nextCheck { nextCheck = moment }
    }
}
