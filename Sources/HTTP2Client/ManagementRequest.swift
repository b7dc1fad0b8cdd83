public import PushTransport

/// A request of any method, sent once, by itself: for the few calls by which a provider's channels and topics are managed.
///
/// Has a connection of its own, over HTTP/2. TLS is verified, redirects are not followed, no proxy is used.
public struct ManagementRequest: Sendable {
    /// The HTTP method, such as `DELETE`.
    public let method: String

    /// Where to.
    public let url: HTTPSURL

    /// The header fields; they may be secrets.
    public let fields: [HeaderField]

    /// The body; empty for none.
    public let body: [UInt8]

    /// A PEM file whose certificates are trusted in addition to the system's.
    public var caFile: String?

    /// What the client shows in the TLS handshake; nil for providers that take tokens.
    public var clientCertificate: ClientCertificate?

    /// How long all of it may take, from resolving to the last byte of the answer.
    public var deadline = Duration.seconds(20)

    /// Bytes that the answer's body may have; one that has more is given up.
    public var answerLimit = 1024 * 1024

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - url: where to.
    ///   - fields: the header fields, beside those of HTTP itself.
    ///   - body: the body; empty for none.
    public init(_ method: String, _ url: HTTPSURL, fields: [HeaderField], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }

    /// Sends it and waits for the answer, on the calling thread, which it blocks.
    ///
    /// Sends it once at most. Nothing ends it early but the deadline.
    ///
    /// - Parameter names: the answer's header fields to keep, in lower case.
    /// - Returns: the answer, or what went wrong.
    /// - Throws: ``TransportError`` if a file is of no use or libcurl cannot do what is needed.
    public func send(keeping names: [String] = []) throws(TransportError) -> ManagementAnswer {
        try CurlLibrary.prepare()
        var trustStore: MemoryFile?
        if let caFile { trustStore = try TrustStore.joining(caFile: caFile) }
        var certificateChain: MemoryFile?
        if let clientCertificate {
            certificateChain = MemoryFile.holding(clientCertificate.chain)
            guard certificateChain != nil else {
                throw TransportError(reason: .clientCertificate(problem: "it could not be kept in memory"))
            }
        }
        let exchange = try ManagementExchange.open(self, trustStore: trustStore, certificateChain: certificateChain)
        return exchange.perform(keeping: names)
    }
}

/// What came of a ``ManagementRequest``.
public struct ManagementAnswer: Sendable {
    /// The HTTP status; 0 if no whole answer came.
    public let status: UInt16

    /// The answer's body.
    public let body: [UInt8]

    /// The header fields that were asked for, by their names in lower case.
    public let headers: [String: String]

    /// What went wrong, safe to log; empty if nothing did.
    public let detail: String
}
