public import PushTransport

/// A request that is sent once on a connection of its own: for access tokens, and for the calls that manage a
/// provider's channels and topics.
///
/// Uses HTTP/2 or HTTP/1.1. TLS is verified, redirects are not followed, and proxy variables in the environment are
/// ignored.
public struct SingleRequest: Sendable {
    /// The HTTP method, such as `DELETE`.
    public let method: String

    /// The URL of the request.
    public let url: HTTPSURL

    /// The header fields; they may be secrets.
    public var fields: [HeaderField] { head.fields }

    /// The body, which may be a secret; empty for none.
    public let body: [UInt8]

    /// A PEM file whose certificates are trusted in addition to the system's.
    public var caFile: String?

    /// The client certificate for the TLS handshake; nil for providers that use tokens.
    public var clientCertificate: ClientCertificate?

    /// The proxy through which the connection is tunnelled; nil to connect directly.
    public var proxy: HTTPProxy?

    /// The time limit for the whole exchange, from resolving to the last byte of the answer.
    public var deadline = Duration.seconds(20)

    /// The maximum size of the answer's body in bytes; a larger answer is given up.
    public var answerLimit = 1024 * 1024

    let head: HeaderBlock

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - url: the URL of the request.
    ///   - fields: the header fields, `content-type` included; only those of HTTP itself are added.
    ///   - body: the body; empty for none.
    /// - Throws: ``HeaderError`` for a field that appears twice or is reserved for the transport.
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

    /// Creates a request that posts a form, as OAuth token endpoints require it (RFC 6749 section 4.5).
    ///
    /// - Parameters:
    ///   - form: the names and values in order; they may be secrets.
    ///   - url: the URL to post to.
    /// - Throws: ``HeaderError`` never, unless this type has a bug.
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

    /// Sends the request and blocks the calling thread until the answer arrives.
    ///
    /// Sends it at most once. Only the deadline ends the call early.
    ///
    /// - Parameter names: the answer's header fields to keep, in lower case.
    /// - Returns: the answer, or the failure.
    /// - Throws: ``TransportError`` if a file is unusable or libcurl lacks a required feature.
    public func send(keeping names: [String] = []) throws(TransportError) -> SingleAnswer {
        try CurlLibrary.prepare()
        let settings = try ConnectionSettings(caFile: caFile, clientCertificate: clientCertificate, proxy: proxy)
        return try SingleExchange.open(self, settings).perform(keeping: names)
    }

    /// Encodes text as `application/x-www-form-urlencoded`, with every byte escaped that might have a meaning.
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

/// The result of a ``SingleRequest``.
public struct SingleAnswer: Sendable {
    /// The HTTP status; 0 if no complete answer arrived.
    public let status: UInt16

    /// The answer's body, which may be a credential.
    public let body: [UInt8]

    /// The header fields that were requested, by their names in lower case.
    public let headers: [String: String]

    /// The reason why there is no complete answer; ``FateCause/none`` if there is one, ``FateCause/connect`` and
    /// ``FateCause/tls`` only if the request was not sent.
    public let cause: FateCause

    /// The explanation of a failure, safe to log; empty after success.
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
