/// The errors of FCM's topic management; reference: Firebase's admin SDKs.
enum TopicError: String, CaseIterable, Sendable {
    case notFound = "NOT_FOUND"
    case invalidArgument = "INVALID_ARGUMENT"
    case tooManyTopics = "TOO_MANY_TOPICS"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case permissionDenied = "PERMISSION_DENIED"
    case deadlineExceeded = "DEADLINE_EXCEEDED"
    case internalError = "INTERNAL"
    case unknown = "UNKNOWN"

    /// The HTTP status if the error applies to a whole call.
    var status: Int {
        switch self {
        case .notFound: 404
        case .invalidArgument, .tooManyTopics: 400
        case .resourceExhausted: 429
        case .permissionDenied: 403
        case .deadlineExceeded: 504
        case .internalError, .unknown: 500
        }
    }
}

/// Google's Instance ID service, which subscribes up to 1000 tokens at once to one of FCM's topics, or unsubscribes
/// them.
///
/// Subscriptions are not stored, because messages to topics reach no device here. `status` faults that match a token of
/// the call give that token's error, with `times` counted per token; other faults apply to the call, whose target is
/// the topic.
struct TopicManagementSimulator: ProviderSimulator {
    let name = SimulatedService.iid
    let streamLimit: Int
    let opensNarrow = false
    let tokens: AccessTokens
    let faults: FaultPlan

    func serves(_ head: RequestHead) -> Bool {
        head.path.hasPrefix("/iid/") || head.host == "iid.googleapis.com"
    }

    func target(of head: RequestHead) -> String { "" }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        TopicManagementSession(simulator: self)
    }
}

/// The Instance ID service's state of one connection.
final class TopicManagementSession: ProviderSession {
    private static let mostTokens = 1000

    private let simulator: TopicManagementSimulator
    private var credentials: AccessTokenState

    init(simulator: TopicManagementSimulator) {
        self.simulator = simulator
        credentials = AccessTokenState(simulator.tokens)
    }

    func judge(_ request: PushRequest) -> Judgement {
        let body = JSONParser.parse(request.bytes)?.members
        let topic = body?["to"]?.text ?? ""
        var judgement = Judgement(target: topic, answer: ProviderAnswer(status: 200), delivers: false)
        if let failure = failure(request, body, topic) {
            judgement.answer = Self.answer(failure.status, failure.text)
        } else if case .array(let tokens)? = body?["registration_tokens"] {
            let results = tokens.map { result($0.text ?? "", in: request.environment) }
            judgement.answer = .json(200, #"{"results":[\#(results.joined(separator: ","))]}"#)
        }
        return judgement
    }

    private func failure(_ request: PushRequest, _ body: JSONObject?, _ topic: String) -> (status: Int, text: String)? {
        let head = request.head
        guard ["/iid/v1:batchAdd", "/iid/v1:batchRemove"].contains(head.path) else { return (404, "NotFound") }
        guard head.method == "POST" else { return (405, "MethodNotAllowed") }
        guard credentials.check(head.header("authorization"), now: request.unixMicroseconds / 1_000_000) == nil,
            head.header("access_token_auth") == "true"
        else { return (401, "Unauthorized") }
        guard let body, case .array(let tokens)? = body["registration_tokens"] else { return (400, "InvalidJson") }
        guard Self.isTopic(topic) else { return (400, "InvalidTopicName") }
        guard (1...Self.mostTokens).contains(tokens.count), tokens.allSatisfy({ $0.text != nil }) else {
            return (400, "InvalidTokenList")
        }
        return nil
    }

    /// Returns whether a text is `/topics/NAME`, or a private topic.
    private static func isTopic(_ text: String) -> Bool {
        guard text.hasPrefix("/topics/") else { return false }
        let name = text.dropFirst(8)
        return FCMCondition.isTopic(name.hasPrefix("private/") ? name.dropFirst(8) : name)
    }

    private func result(_ token: String, in environment: Environment) -> String {
        guard FCMToken.isWellFormed(token) else { return #"{"error":"INVALID_ARGUMENT"}"# }
        let reason = simulator.faults.reason(provider: .iid, environment: environment, token: token)
        return reason.map { #"{"error":\#(JSONValue.quoted($0))}"# } ?? "{}"
    }

    private static func answer(_ status: Int, _ text: String) -> ProviderAnswer {
        .json(status, reason: text, #"{"error":\#(JSONValue.quoted(text))}"#)
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let status = fault.status ?? fault.reason.flatMap(TopicError.init(rawValue:))?.status ?? 500
        if let body = fault.body {
            return ProviderAnswer.raw(status, reason: fault.reason, body).adding(fault.headers)
        }
        return Self.answer(status, fault.reason ?? GoogleStatus.name(of: status)).adding(fault.headers)
    }
}
