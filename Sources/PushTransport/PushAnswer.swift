/// What became of a request.
public enum Fate: UInt8, Sendable, CaseIterable {
    /// A status came. It counts even if the body broke afterwards.
    case answered
    /// It never reached a connection. Sending it again cannot make a duplicate.
    case notSent
    /// The peer said that it did not process it (REFUSED_STREAM, above GOAWAY's last stream). Not every transport can
    /// see this; those that cannot say ``ambiguous``.
    case notProcessed
    /// It was handed to a connection and then lost, reset, or past its deadline: the peer may have acted on it.
    case ambiguous
}

/// Why a request has no status.
public enum FateCause: UInt8, Sendable, CaseIterable {
    /// It has one.
    case none
    /// The name did not resolve, or nobody listened, or connecting took too long.
    case connect
    /// The TLS handshake failed: certificate, host name, protocol version.
    case tls
    /// The connection ended, or the peer reset the stream.
    case lost
    /// The answer did not come in time.
    case deadline
    /// No connection took it in time; it waited and was never sent.
    case queue
    /// ``PushTransport/sendUntil`` had passed before its turn came.
    case sendUntil
    /// ``PushTransport/close(into:)`` was called.
    case closed
    /// The transport itself failed, for example for want of memory.
    case local
    /// Its host, or every address that the host has, is one that must not be connected to
    /// (``DestinationPolicy``). Nothing was sent, and it says nothing about the provider's health.
    case forbidden
}

/// The fate of one request.
public struct PushAnswer: Sendable {
    /// The number the request was given.
    public let tag: UInt64

    /// What became of it.
    public let fate: Fate

    /// Why there is no status; ``FateCause/none`` if ``fate`` is ``Fate/answered``.
    public let cause: FateCause

    /// The HTTP status; 0 unless ``fate`` is ``Fate/answered``.
    public let status: UInt16

    /// The answer's body up to the transport's limit; of a request that was not processed, what the peer said beside its
    /// GOAWAY, up to 1 KiB.
    ///
    /// Empty for status 200, whose body nobody needs, and where nothing was said.
    public let body: [UInt8]

    /// Those of the answer's fields that were asked for; a transport to one endpoint leaves them out for status 200.
    public let headers: [HeaderField]

    /// The connection that carried it, for ``PushTransport/retire(_:)``; 0 if there is none.
    public var connection: UInt64 = 0

    /// What went wrong, for logs: holds no token, payload or credential.
    ///
    /// Empty if ``fate`` is ``Fate/answered``.
    public let detail: String

    /// An answer with a status.
    ///
    /// - Parameters:
    ///   - tag: the request's number.
    ///   - status: the HTTP status.
    ///   - body: the bounded body.
    ///   - headers: the fields that were asked for.
    public init(tag: UInt64, status: UInt16, body: [UInt8] = [], headers: [HeaderField] = []) {
        self.tag = tag
        fate = .answered
        cause = .none
        self.status = status
        self.body = body
        self.headers = headers
        detail = ""
    }

    /// The fate of a request without a status.
    ///
    /// - Parameters:
    ///   - tag: the request's number.
    ///   - fate: any but ``Fate/answered``.
    ///   - cause: any but ``FateCause/none``.
    ///   - detail: what went wrong, safe to log.
    ///   - body: GOAWAY's debug data as it came, if that is why it was not processed.
    public init(tag: UInt64, without fate: Fate, cause: FateCause, detail: String, body: [UInt8] = []) {
        self.tag = tag
        self.fate = fate
        self.cause = cause
        status = 0
        self.body = body
        headers = []
        self.detail = detail
    }

    /// Whether the transport only gives the request back: nothing became of it and nothing is wrong with it, so that it may
    /// wait and be submitted again as if it had never been.
    public var isReturned: Bool { fate == .notSent && cause != .forbidden && cause != .local }

    /// The value of a header field.
    ///
    /// - Parameter name: the name in lower case.
    /// - Returns: the first value, or nil if it did not come or was not asked for.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
