public import PushTransport

/// A request that is sent once, by itself: for access tokens, and for the few calls by which a provider's channels and
/// topics are managed.
///
/// Has a connection of its own, over HTTP/2 or HTTP/1.1. TLS is verified, redirects are not followed, and what the
/// environment says of proxies does not count.
public struct SingleRequest: Sendable {
    /// The HTTP method, such as `DELETE`.
    public let method: String

    /// Where to.
    public let url: HTTPSURL

    /// The header fields; they may be secrets.
    public var fields: [HeaderField] { head.fields }

    /// The body, which may be a secret; empty for none.
    public let body: [UInt8]

    /// A PEM file whose certificates are trusted in addition to the system's.
    public var caFile: String?

    /// What the client shows in the TLS handshake; nil for providers that take tokens.
    public var clientCertificate: ClientCertificate?

    /// What the connection is tunnelled through; nil to connect directly.
    public var proxy: HTTPProxy?

    /// How long all of it may take, from resolving to the last byte of the answer.
    public var deadline = Duration.seconds(20)

    /// Bytes that the answer's body may have; one that has more is given up.
    public var answerLimit = 1024 * 1024

    let head: HeaderBlock

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - url: where to.
    ///   - fields: the header fields, `content-type` included; no other is sent beside those of HTTP itself.
    ///   - body: the body; empty for none.
    /// - Throws: ``HeaderError`` for a field that appears twice or is not the caller's.
    public init(
        _ method: String,
        _ url: HTTPSURL,
        fields: [HeaderField] = [],
        body: [UInt8] = []
    ) throws(HeaderError) {
        self.method = method
        self.url = url
        head = try HeaderBlock(fields)
        self.body = body
    }

    /// Makes a request that posts a form, as token endpoints of OAuth want it (RFC 6749 section 4.5).
    ///
    /// - Parameters:
    ///   - form: names and values, in order; they may be secrets.
    ///   - url: where to post.
    /// - Throws: ``HeaderError`` never, unless this type is wrong.
    public init(posting form: [(name: String, value: String)], to url: HTTPSURL) throws(HeaderError) {
        let fields = [
            try HeaderField("content-type", "application/x-www-form-urlencoded"),
            try HeaderField("accept", "application/json"),
        ]
        let pairs = form.map { Self.encoded($0.name) + [UInt8(ascii: "=")] + Self.encoded($0.value) }
        try self.init("POST", url, fields: fields, body: Array(pairs.joined(separator: [UInt8(ascii: "&")])))
        deadline = .seconds(15)
        answerLimit = 64 * 1024
    }

    /// Sends it and waits for the answer, on the calling thread, which it blocks.
    ///
    /// Sends it once at most. Nothing ends it early but the deadline.
    ///
    /// - Parameter names: the answer's header fields to keep, in lower case.
    /// - Returns: the answer, or what went wrong.
    /// - Throws: ``TransportError`` if a file is of no use or libcurl cannot do what is needed.
    public func send(keeping names: [String] = []) throws(TransportError) -> SingleAnswer {
        try CurlLibrary.prepare()
        let settings = try ConnectionSettings(caFile: caFile, clientCertificate: clientCertificate, proxy: proxy)
        return try SingleExchange.open(self, settings).perform(keeping: names)
    }

    /// `application/x-www-form-urlencoded`, with every byte that might mean something escaped.
    private static func encoded(_ text: String) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return text.utf8.flatMap { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                [byte]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}

/// What came of a ``SingleRequest``.
public struct SingleAnswer: Sendable {
    /// The HTTP status; 0 if no whole answer came.
    public let status: UInt16

    /// The answer's body; may be a credential.
    public let body: [UInt8]

    /// The header fields that were asked for, by their names in lower case.
    public let headers: [String: String]

    /// Why there is no whole answer; ``FateCause/none`` if there is, ``FateCause/connect`` and ``FateCause/tls`` only if
    /// the request was not sent.
    public let cause: FateCause

    /// What went wrong, safe to log; empty if nothing did.
    public let detail: String

    init(status: UInt16, body: [UInt8], headers: [String: String]) {
        self.status = status
        self.body = body
        self.headers = headers
        cause = .none
        detail = ""
    }

    init(without cause: FateCause, detail: String) {
        status = 0
        body = []
        headers = [:]
        self.cause = cause
        self.detail = detail
    }
}
