public import FanfareCore

/// Subscribing FCM tokens to FCM's own topics, and the reverse: the Instance ID service.
///
/// Source: Firebase Admin SDK for Go, `messaging/topic_mgt.go`. Requests carry the same access token as pushes and the
/// fields ``headers``.
public enum FCMTopicManagement {
    /// The most tokens of one call.
    public static let tokenLimit = 1000
    /// The fields of every request beside `authorization`.
    public static let headers: [(name: String, value: String)] = [
        (name: "content-type", value: "application/json"), (name: "access_token_auth", value: "true"),
    ]

    /// What is done to the tokens.
    public enum Operation: Sendable {
        /// They join the topic.
        case subscribe
        /// They leave it.
        case unsubscribe

        /// The request path, at `https://iid.googleapis.com`.
        public var path: String {
            switch self {
            case .subscribe: "/iid/v1:batchAdd"
            case .unsubscribe: "/iid/v1:batchRemove"
            }
        }
    }

    /// The bodies of the calls that some tokens take.
    ///
    /// - Parameters:
    ///   - topic: the topic's name, without `/topics/`.
    ///   - tokens: any number of registration tokens.
    /// - Returns: for every call the tokens of `tokens` it is for and its body; nil if `topic` is no topic name.
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

/// What became of one token in a topic call.
public enum FCMTopicResult: Equatable, Sendable {
    /// Subscribed, or no longer.
    case done
    /// The token is dead, and how sure that is; a pruned device needs no topic.
    case dead(PruneEvidence.Strength)
    /// The app instance has as many topics as it may have (2000).
    case tooManyTopics
    /// To be tried again with back-off.
    case retry
    /// The token belongs to another project.
    case otherProject
    /// A word that is in no table; loggable.
    case refused(String)

    /// Reads the `error` of one result.
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

/// What became of a whole topic call.
public enum FCMTopicAnswer: Equatable, Sendable {
    /// One result for each token, in their order.
    case results([FCMTopicResult])
    /// Nothing was done; try again, after at least this long.
    case retry(floor: Microseconds)
    /// The access token was refused: renew it and try again once.
    case renewCredential
    /// Nothing was done, and would not be next time; the service's words where it had any, loggable.
    case refused(String)

    /// The most bytes of an answer: a thousand results.
    public static let maximumBytes = 256 * 1024

    /// Judges an answer; total over every status and body.
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
            // Results that cannot be matched with tokens are worse than none: subscribing twice does no harm.
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
