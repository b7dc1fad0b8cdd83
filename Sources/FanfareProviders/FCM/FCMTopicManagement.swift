public import FanfareCore

/// Subscribes FCM tokens to FCM's own topics and unsubscribes them, with the Instance ID service.
///
/// Source: Firebase Admin SDK for Go, `messaging/topic_mgt.go`. Requests carry the same access token as pushes, and the
/// fields ``headers``.
public enum FCMTopicManagement {
    /// The maximum number of tokens in one call.
    public static let tokenLimit = 1000
    /// The header fields of every request besides `authorization`.
    public static let headers: [(name: String, value: String)] = [
        (name: "content-type", value: "application/json"), (name: "access_token_auth", value: "true"),
    ]

    /// A change to the subscriptions of tokens.
    public enum Operation: Sendable {
        /// The tokens join the topic.
        case subscribe
        /// The tokens leave the topic.
        case unsubscribe

        /// The request path, at `https://iid.googleapis.com`.
        public var path: String {
            switch self {
            case .subscribe: "/iid/v1:batchAdd"
            case .unsubscribe: "/iid/v1:batchRemove"
            }
        }
    }

    /// Splits tokens into calls and builds their bodies.
    ///
    /// - Parameters:
    ///   - topic: the topic's name, without `/topics/`.
    ///   - tokens: any number of registration tokens.
    /// - Returns: for each call the range of its tokens and its body; nil if `topic` is not a topic name.
    public static func calls(topic: String, tokens: [String]) -> [(tokens: Range<Int>, body: [UInt8])]? {
        guard TopicName.isValid(topic) else { return nil }
        return stride(from: 0, to: tokens.count, by: tokenLimit).map { start in
            let range = start..<min(start + tokenLimit, tokens.count)
            let body: JSONValue = [
                "to": .string("/topics/" + topic), "registration_tokens": .array(tokens[range].map(JSONValue.string)),
            ]
            return (range, body.encoded)
        }
    }
}

/// The result for one token in a topic call.
public enum FCMTopicResult: Equatable, Sendable {
    /// Subscribed or unsubscribed.
    case done
    /// The token is dead, with the strength of the evidence; a pruned device needs no topic.
    case dead(PruneEvidence.Strength)
    /// The app instance has reached the limit of 2000 topics.
    case tooManyTopics
    /// To be retried with backoff.
    case retry
    /// The token belongs to another project.
    case otherProject
    /// An undocumented error; loggable.
    case refused(String)

    /// Parses the `error` of one result.
    init(error: String) {
        self =
            switch error {
            case "NOT_FOUND": .dead(.strong)
            case "INVALID_ARGUMENT": .dead(.weak)
            case "TOO_MANY_TOPICS": .tooManyTopics
            case "PERMISSION_DENIED": .otherProject
            case "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "UNAVAILABLE": .retry
            default: .refused(error.loggable(upTo: FCMErrorBody.maximumReasonLength) ?? "")
            }
    }
}

/// The result of a whole topic call.
public enum FCMTopicAnswer: Equatable, Sendable {
    /// One result per token, in the same order.
    case results([FCMTopicResult])
    /// The call had no effect and can be retried after at least this long.
    case retry(floor: Microseconds)
    /// The access token was rejected: renew it and retry once.
    case renewCredential
    /// The call had no effect and a retry would fail too; with the service's text if there is one, loggable.
    case refused(String)

    /// The maximum size of an answer, enough for a thousand results.
    public static let maximumBytes = 256 * 1024

    /// Judges an answer, for every status and body.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - retryAfter: the value of `Retry-After`.
    ///   - count: how many tokens were in the call.
    ///   - now: the time of the answer (wall clock).
    public init(
        status: Int,
        body: some Collection<UInt8>,
        retryAfter: String? = nil,
        count: Int,
        now: Microseconds
    ) {
        let json = try? JSONValue(parsing: Array(body), limits: JSONLimits(bytes: Self.maximumBytes, levels: 32))
        switch status {
        case 200...299:
            let results = json?["results"]?.arrayValue ?? []
            // Results that cannot be matched with tokens are discarded; subscribing twice is harmless.
            self = results.count == count ? .results(results.map(Self.result)) : .retry(floor: 0)
        case 401: self = .renewCredential
        case 429: self = .retry(floor: RetryAfter.wait(retryAfter, now: now) ?? FCMAnswer.quotaFloor)
        case 500...599: self = .retry(floor: RetryAfter.wait(retryAfter, now: now) ?? 0)
        default:
            let said = json?["error"]?.stringValue ?? json?["error"]?["status"]?.stringValue
            self = .refused(said?.loggable(upTo: FCMErrorBody.maximumReasonLength) ?? "status \(status)")
        }
    }

    private static func result(_ json: JSONValue) -> FCMTopicResult {
        json["error"]?.stringValue.map(FCMTopicResult.init(error:)) ?? .done
    }
}
