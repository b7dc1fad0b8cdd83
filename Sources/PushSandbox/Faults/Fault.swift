import Foundation

/// A fault, and the requests it applies to.
///
/// Faults are a JSON list. The first entry that matches a request is applied; `slow` adds its delay and lets later
/// entries match as well. Common keys, all but `do` optional:
///
/// | key | value |
/// |---|---|
/// | `match` | an object with `token`, `share` or both; without `match`, every request matches |
/// | `match.token` | a regular expression. For APNs it is searched in the device token; for FCM in the token, in `/topics/NAME` or in the condition; for FCM's topics in the registration; for Web Push in the endpoint's path; for webhooks in the URL's path (`/hooks/…`); for a broadcast in the channel id |
/// | `match.share`, `match.salt` | `share`, from 0 to 1, is the share of tokens that match. A hash of `salt` and the token selects these tokens, so they are always the same |
/// | `provider` | the name of a provider, such as `"apns"`, or `"oauth"` (FCM's access tokens) or `"fcm_topics"` (changes of FCM's topics). Without `provider`, every provider matches, but not `"oauth"` and `"fcm_topics"` |
/// | `environment` | `"production"` or `"sandbox"` |
/// | `skip` | the number of matching requests that pass before the fault begins |
/// | `times` | how often the fault is applied to each token |
/// | `total` | how often the fault is applied to all tokens together |
/// | `do` | what the fault does: one of the words in the table below |
///
/// | `do` | what happens | further keys |
/// |---|---|---|
/// | `status` | the request gets this response | `status`, `reason` or both. `reason` is the provider's error code; for Web Push it is a case of `WebPushRejection`, for webhooks a case of `WebhookRejection`. Optional: `body` (raw text instead of the provider's JSON), `retry_after` (seconds, or a date as text), `location` (for redirects), and one of `timestamp_ms` (null: no time stamp) and `timestamp_age_ms`. Without these two, a 410 of APNs has the current time as its time stamp |
/// | `goaway` | the server sends GOAWAY, then closes the connection | `last_stream`, compared with this request's stream: `below` (default; the request was not processed), `at` (equal), or `above` (2^31−1). `answer`: whether the request is answered (by default no for `below`, yes for `at` and `above`). `debug`: a JSON object or text. `close_after_ms`: the time until the connection is closed |
/// | `refuse` | the server sends RST_STREAM with REFUSED_STREAM | |
/// | `reset` | the connection is reset; with `code` only the stream is reset (RST_STREAM) | `code`: a number or name (`"INTERNAL_ERROR"`) of RFC 9113 section 7 |
/// | `silence` | the server reads and answers nothing more on the connection, not even PING, but keeps the TCP connection open | |
/// | `slow` | the request is delayed before anything else happens to it | `ms`: the delay |
/// | `close` | the connection is closed without an answer | `at`: after which part of the request the connection is closed, `body` (default) or `headers` |
/// | `stream_limit` | SETTINGS_MAX_CONCURRENT_STREAMS changes at once, on all connections that have shown a credential or need none | `value`: the new value. No other key except `do` is allowed |
/// | `window` | SETTINGS_INITIAL_WINDOW_SIZE changes at once, on all connections. With 0, the bodies of new requests wait until the fault ends | `value`: the new value. No other key except `do` is allowed |
///
/// A `status` fault applies to requests that would have been accepted: a malformed request gets its own error. With a
/// `reason` and no `status` it applies to the services that have that reason. The others apply to every request they
/// match.
struct Fault: Sendable {
    var token: NSRegularExpression?
    var share: Double?
    var salt = ""
    var provider: SimulatedService?
    var environment: Environment?
    var skip = 0
    var timesPerToken: Int?
    var total: Int?
    var action: FaultAction
}

/// The effect of a fault.
enum FaultAction: Sendable {
    case status(StatusFault)
    case goAway(GoAwayFault)
    case refuse
    case reset(code: Int?)
    case silence
    case slow(milliseconds: Int64)
    case close(atHeaders: Bool)
    case streamLimit(Int)
    case window(Int)

    /// Whether it applies to connections, not to requests.
    var isAboutConnections: Bool {
        switch self {
        case .streamLimit, .window: true
        default: false
        }
    }

    /// The name in the ledger.
    var label: String {
        switch self {
        case .status: "status"
        case .goAway: "goaway"
        case .refuse: "refuse"
        case .reset: "reset"
        case .silence: "silence"
        case .slow: "slow"
        case .close: "close"
        case .streamLimit: "stream_limit"
        case .window: "window"
        }
    }
}

/// The response of a `status` fault.
struct StatusFault: Sendable {
    /// The time stamp in the response's body.
    enum Timestamp: Sendable {
        /// The current time for a 410, none otherwise.
        case byStatus
        case none
        case fixed(milliseconds: Int64)
        case age(milliseconds: Int64)

        /// Returns milliseconds since 1970, or nil for none.
        func milliseconds(status: Int, now: Int64) -> Int64? {
            switch self {
            case .byStatus: status == 410 ? now : nil
            case .none: nil
            case .fixed(let milliseconds): milliseconds
            case .age(let milliseconds): now - milliseconds
            }
        }
    }

    var status: Int?
    var reason: String?
    var body: String?
    var timestamp = Timestamp.byStatus
    /// The value of a `Retry-After` header.
    var retryAfter: String?
    /// The value of a `Location` header.
    var location: String?

    /// Returns whether a service can respond with it: for a reason without a status, the service must have a status for
    /// the reason.
    func isKnown(to provider: SimulatedService) -> Bool {
        guard status == nil, let reason else { return true }
        return provider.status(of: reason) != nil
    }
}

/// How a `goaway` fault ends the connection.
struct GoAwayFault: Sendable {
    enum LastStream: String, Sendable, CaseIterable {
        case below
        case at
        case above
    }

    var lastStream = LastStream.below
    var answers = false
    var debug = ""
    var closeAfterMilliseconds: Int64 = 0
}
