internal import PushTransport

/// The state shared by libcurl's callbacks and the transport; used by one thread.
final class TransferContext {
    /// See ``PushTransport/sendUntil``.
    var sendUntil = ContinuousClock.now.advanced(by: .seconds(100 * 365 * 86_400))

    /// The time at the start of the current round, which is precise enough for deadlines and is not read for every
    /// request.
    var now = monotonicNow()

    /// A lower bound of the time when a request may be overdue.
    var nextCheck = MonotonicTime.max

    /// The counters of ``TransportState``; connections are counted when the state is read.
    var state = TransportState()

    /// Whether the set of watched sockets has changed.
    var socketsChanged = true

    /// The endpoint that the transport sends to.
    let endpoint: Endpoint

    /// The rules for the peer.
    let rules: OriginRules

    /// The maximum number of bytes of an answer's body that are kept.
    let answerLimit: Int

    /// The limit for an answer's header and for its body, each in bytes; an answer that exceeds it is ended.
    let readLimit: Int

    /// The value of TCP_USER_TIMEOUT in milliseconds.
    let tcpUserTimeout: UInt32

    init(_ endpoint: Endpoint, _ options: TransportOptions, _ rules: OriginRules) {
        self.endpoint = endpoint
        self.rules = rules
        answerLimit = options.answerLimit
        // The server of a registered address must not fill memory or the network.
        readLimit = TransportOptions.readLimit(keeping: options.answerLimit)
        tcpUserTimeout = options.tcpUserTimeoutMilliseconds
    }

    /// Sets ``nextCheck`` to a moment if it is later.
    func checkBy(_ moment: MonotonicTime) {
        if moment < nextCheck { nextCheck = moment }
    }
}
