/// The result of a request.
public enum Fate: UInt8, Sendable, CaseIterable {
    /// A status arrived. It counts even if the body was cut off afterwards.
    case answered
    /// No part of it reached a connection. Sending it again cannot make a duplicate.
    case notSent
    /// The peer said that it did not process the request (REFUSED_STREAM, or a stream above GOAWAY's last one). A
    /// transport that cannot detect this reports ``ambiguous``.
    case notProcessed
    /// It was handed to a connection and then lost, reset, or not answered by its deadline: the peer may have processed
    /// it.
    case ambiguous
}

/// The reason why a request has no status.
public enum FateCause: UInt8, Sendable, CaseIterable {
    /// The request has a status.
    case none
    /// The name did not resolve, the connection was refused, or connecting took too long.
    case connect
    /// The TLS handshake failed: certificate, host name, protocol version.
    case tls
    /// The connection ended, or the peer reset the stream.
    case lost
    /// The answer did not arrive by the deadline.
    case deadline
    /// No connection was available in time; the request was never sent.
    case queue
    /// ``PushTransport/sendUntil`` passed before the request was started.
    case sendUntil
    /// ``PushTransport/close(into:)`` was called.
    case closed
    /// The transport itself failed, for example because memory ran out.
    case local
    /// The ``DestinationPolicy`` forbids the host, or every address of the host. Nothing was sent, and the provider's
    /// health is not affected.
    case forbidden
}

/// The answer to one request, or its failure.
public struct PushAnswer: Sendable {
    /// The request's ``PushRequest/tag``.
    public let tag: UInt64

    /// The result of the request.
    public let fate: Fate

    /// The reason why there is no status; ``FateCause/none`` if ``fate`` is ``Fate/answered``.
    public let cause: FateCause

    /// The HTTP status; 0 unless ``fate`` is ``Fate/answered``.
    public let status: UInt16

    /// The answer's body up to the transport's limit; for a request that was not processed, GOAWAY's debug data up to 1
    /// KiB.
    ///
    /// Empty for status 200, whose body is not needed, and where the peer sent none.
    public let body: [UInt8]

    /// The answer's header fields that the options name; a transport to one endpoint omits them for status 200.
    public let headers: [HeaderField]

    /// The name of the connection that carried it, for ``PushTransport/retire(_:)``; 0 without a connection.
    public var connection: UInt64 = 0

    /// The explanation for logs, without tokens, payloads or credentials.
    ///
    /// Empty if ``fate`` is ``Fate/answered``.
    public let detail: String

    /// Creates an answer with a status.
    ///
    /// - Parameters:
    ///   - tag: the request's tag.
    ///   - status: the HTTP status.
    ///   - body: the body, already truncated.
    ///   - headers: the header fields that the options name.
    public init(tag: UInt64, status: UInt16, body: [UInt8] = [], headers: [HeaderField] = []) {
        self.tag = tag
        fate = .answered
        cause = .none
        self.status = status
        self.body = body
        self.headers = headers
        detail = ""
    }

    /// Creates the answer to a request without a status.
    ///
    /// - Parameters:
    ///   - tag: the request's tag.
    ///   - fate: any but ``Fate/answered``.
    ///   - cause: any but ``FateCause/none``.
    ///   - detail: the explanation, safe to log.
    ///   - body: GOAWAY's debug data, if the request was not processed because of it.
    public init(tag: UInt64, without fate: Fate, cause: FateCause, detail: String, body: [UInt8] = []) {
        self.tag = tag
        self.fate = fate
        self.cause = cause
        status = 0
        self.body = body
        headers = []
        self.detail = detail
    }

    /// Whether the transport returned the request unsent and the request itself is valid, so that the caller may submit
    /// it again as if for the first time.
    public var isReturned: Bool { fate == .notSent && cause != .forbidden && cause != .local }

    /// Returns the value of a header field.
    ///
    /// - Parameter name: the name in lower case.
    /// - Returns: the first value; nil if the field was absent or was not requested.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
