internal import CCurl
public import PushTransport

/// A form that is posted once, by itself: for token endpoints of OAuth (RFC 6749 section 4.5).
///
/// Has a connection of its own, over HTTP/2 or HTTP/1.1. TLS is verified, redirects are not followed, no proxy is used.
public struct FormRequest: Sendable {
    /// Where to post.
    public let url: HTTPSURL

    /// Names and values, in order; they may be secrets.
    public let fields: [(name: String, value: String)]

    /// A PEM file whose certificates are trusted in addition to the system's.
    public var caFile: String?

    /// How long all of it may take, from resolving to the last byte of the answer.
    public var deadline = Duration.seconds(15)

    /// Bytes that the answer's body may have; one that has more is given up.
    public var answerLimit = 64 * 1024

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: where to post.
    ///   - fields: names and values, in order.
    public init(url: HTTPSURL, fields: [(name: String, value: String)]) {
        self.url = url
        self.fields = fields
    }

    /// Posts the form and waits for the answer, on the calling thread, which it blocks.
    ///
    /// Sends it once at most. Nothing ends it early but the deadline.
    ///
    /// - Returns: the answer, or what went wrong.
    /// - Throws: ``TransportError`` if the CA file is of no use or libcurl cannot do what is needed.
    public func send() throws(TransportError) -> FormAnswer {
        try CurlLibrary.prepare()
        var trustStore: MemoryFile?
        if let caFile { trustStore = try TrustStore.joining(caFile: caFile) }
        let exchange = try FormExchange.open(self, trustStore: trustStore)
        return exchange.perform()
    }

    /// The body: `application/x-www-form-urlencoded`.
    var body: String {
        fields.map { Self.encoded($0.name) + "=" + Self.encoded($0.value) }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What came of a ``FormRequest``.
public struct FormAnswer: Sendable {
    /// The HTTP status; 0 if no whole answer came.
    public let status: UInt16

    /// The answer's body; may be a credential.
    public let body: [UInt8]

    /// The `Retry-After` field, as it was sent.
    public let retryAfter: String?

    /// Why there is no whole answer; ``FateCause/none`` if there is.
    public let cause: FateCause

    /// What went wrong, safe to log; empty if nothing did.
    public let detail: String

    init(status: UInt16, body: [UInt8], retryAfter: String?) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        cause = .none
        detail = ""
    }

    init(without cause: FateCause, detail: String) {
        status = 0
        body = []
        retryAfter = nil
        self.cause = cause
        self.detail = detail
    }
}
