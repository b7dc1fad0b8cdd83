/// One complete request that reached the sandbox: a line of `received.jsonl`.
public struct ReceivedPush: Codable, Sendable, Equatable {
    /// The number of the request among the recorded ones, from 1 without gaps.
    public var n: Int
    /// The time at which the request was complete, in nanoseconds of CLOCK_MONOTONIC.
    public var atNanoseconds: UInt64
    /// The same time by the wall clock, in microseconds since 1970.
    public var atUnixMicroseconds: Int64
    /// The number of the TLS connection, from 1.
    public var connection: Int
    /// The HTTP/2 stream on that connection.
    public var stream: Int
    /// The simulated service: a provider's name; `oauth` and `fcm_topics` for FCM's access tokens and topics.
    public var provider: String
    /// `production` or `sandbox`.
    public var environment: String
    /// The HTTP method.
    public var method: String
    /// The HTTP path, which for APNs ends in the device token.
    public var path: String
    /// The target of the request: a device token, `/topics/NAME`, a condition, the path of a Web Push endpoint, a
    /// channel id, or the registration of a topic request; empty if it names none.
    public var target = ""
    /// The header fields by lower-case name, with `:authority` as the only pseudo-header.
    ///
    /// `authorization` has the scheme and a short hash, enough to distinguish credentials. The values of a repeated
    /// field are joined by a comma and a space (RFC 9110 section 5.3).
    public var headers: [String: String]
    /// The body as text; nil if it is not UTF-8.
    ///
    /// For Web Push it is the decrypted message, as far as it can be decrypted; for OAuth, the assertion's header and
    /// claims, which are not secret.
    public var body: String?
    /// The body in base64 if it is not UTF-8.
    public var bodyBase64: String?
    /// The status of the response; nil if there was none.
    public var status: Int?
    /// The provider's error code; nil if the push was accepted or the response has none.
    ///
    /// Web Push services have different wordings, so their code is the sandbox's own name.
    public var reason: String?
    /// The kind of fault that was applied, if any.
    public var fault: String?
    /// An error of the sender that the real service could not detect, so that the response does not report it: a Web
    /// Push message that the browser cannot decrypt.
    public var problem: String?
    /// How Safari shows a message in the form of Declarative Web Push: `declarative`, or `would fall back, because …`;
    /// nil for another message.
    public var presentation: String?

    enum CodingKeys: String, CodingKey {
        case n
        case atNanoseconds = "at_ns"
        case atUnixMicroseconds = "at_unix_us"
        case connection, stream, provider, environment, method, path, target, headers, body
        case bodyBase64 = "body_base64"
        case status, reason, fault, problem, presentation
    }
}
