import Foundation

/// A fault, and the requests it applies to.
///
/// Faults are a JSON list. The first entry that matches a request is applied; `slow` adds its delay and lets later
/// entries match as well. Common keys, all but `do` optional:
///
/// | key | value |
/// |---|---|
/// | `match` | an object with one or both of the following; without `match`, every request matches |
/// | `match.token` | a regular expression, searched in the device token. For Web Push it is searched in the endpoint's path, for webhooks in the URL's path (`/hooks/…`), for FCM also in `/topics/NAME` or the condition, for a broadcast in the channel id |
/// | `match.share`, `match.salt` | 0…1: the share of tokens that match. A hash of salt and token selects them, so these are always the same tokens |
/// | `provider` | a provider by its name, such as `"apns"`; also `"oauth"` (FCM's access tokens) and `"iid"` (FCM's topics); without `provider`, every provider matches, but not these two |
/// | `environment` | `"production"` or `"sandbox"` |
/// | `skip` | how many matching requests are left alone first |
/// | `times` | how often the fault is applied to one token |
/// | `total` | how often the fault is applied in all |
/// | `do` | one of the table below |
///
/// | `do` | what happens | further keys |
/// |---|---|---|
/// | `status` | an answer | `status` or `reason` or both; `reason` is the provider's error code, for Web Push a case of `WebPushRejection`, for webhooks a case of `WebhookRejection`; `body` (raw text instead of the provider's JSON), `timestamp_ms` (null: none), `timestamp_age_ms`, `retry_after` (seconds, or a date as text), `location` (for redirects). A 410 of APNs has the present as its time stamp, unless one of the two `timestamp` keys says otherwise |
/// | `goaway` | GOAWAY, then the connection is closed | `last_stream`: `below` this request's stream (default; the request was not processed), `at` it, or `above` (2^31−1); `answer`: whether the request is answered (default: no for `below`, yes for the others); `debug`: JSON object or text; `close_after_ms` |
/// | `refuse` | RST_STREAM with REFUSED_STREAM | |
/// | `reset` | TCP reset, or RST_STREAM if `code` is given | `code`: number or name (`"INTERNAL_ERROR"`) of RFC 9113 section 7 |
/// | `silence` | nothing is read or answered on the connection any more, not even PING; TCP stays open | |
/// | `slow` | a delay before anything else happens to the request | `ms` |
/// | `close` | the connection is closed without an answer | `at`: `body` (default: the request was read) or `headers` |
/// | `stream_limit` | SETTINGS_MAX_CONCURRENT_STREAMS, at once on all connections that have shown a credential, or need none | `value`; of the other keys only `do` is allowed |
/// | `window` | SETTINGS_INITIAL_WINDOW_SIZE, at once on all connections: with 0 the bodies of new requests wait until the fault is gone | `value`; of the other keys only `do` is allowed |
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

    /// Whether it applies to single tokens of a call to FCM's topic management.
    var isAboutBatchedTokens: Bool {
        guard case .status = action else { return false }
        return provider == .iid && (token != nil || share != nil)
    }
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
