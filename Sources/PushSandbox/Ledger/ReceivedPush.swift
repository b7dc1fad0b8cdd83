/// One complete request that reached the sandbox: a line of `received.jsonl`.
public struct ReceivedPush: Codable, Sendable, Equatable {
    /// Number of the request, from 1 without gaps, among those that are written down.
    public var n: Int
    /// When the request was complete, in nanoseconds of CLOCK_MONOTONIC.
    public var atNanoseconds: UInt64
    /// The same moment by the wall clock, in microseconds since 1970.
    public var atUnixMicroseconds: Int64
    /// Number of the TLS connection, from 1.
    public var connection: Int
    /// HTTP/2 stream on that connection.
    public var stream: Int
    /// The simulated service: a provider's name; `oauth` and `iid` for FCM's access tokens and topics.
    public var provider: String
    /// `production` or `sandbox`.
    public var environment: String
    /// HTTP method.
    public var method: String
    /// HTTP path, which for APNs ends in the device token.
    public var path: String
    /// What the request is for: a device token, `/topics/NAME`, a condition, the path of a Web Push endpoint, a channel
    /// id; empty if it names nothing of the kind.
    public var target = ""
    /// Header fields by lower-case name, pseudo-headers left out but for `:authority`.
    ///
    /// Of `authorization` there is the scheme and a short hash, enough to tell credentials apart. A field that came
    /// several times has its values joined by a comma and a blank (RFC 9110 section 5.3).
    public var headers: [String: String]
    /// The body as text; nil if it is no UTF-8.
    ///
    /// For Web Push it is what the browser decrypts, as far as it can; for OAuth the assertion's header and claims,
    /// which are no secret, instead of the assertion.
    public var body: String?
    /// The same in base64 where it is no UTF-8.
    public var bodyBase64: String?
    /// Status of the answer; nil if there was none.
    public var status: Int?
    /// The provider's error code; nil if the push was accepted or the answer names none.
    ///
    /// Web Push services word it differently, so theirs is the sandbox's own name.
    public var reason: String?
    /// The kind of fault that was applied, if any.
    public var fault: String?
    /// A mistake of the sender that the real service could not have seen, so that the answer does not tell it: a Web
    /// Push message that the browser cannot decrypt.
    public var problem: String?

    enum CodingKeys: String, CodingKey {
        case n
        case atNanoseconds = "at_ns"
        case atUnixMicroseconds = "at_unix_us"
        case connection, stream, provider, environment, method, path, target, headers, body
        case bodyBase64 = "body_base64"
        case status, reason, fault, problem
    }
}
