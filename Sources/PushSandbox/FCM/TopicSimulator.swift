import Foundation

/// FCM's topic API, which subscribes one registration to one topic a request.
///
/// Every well-formed registration is registered, as a token or as an installation id; faults make registrations
/// unknown. Firebase's documentation does not show error bodies of this API: those here have the form of Google's other
/// errors. Nor does it say how a registration's 2,001st topic is refused: here with `limitStatus` and a message.
struct TopicSimulator: ProviderSimulator {
    let name = SimulatedService.fcmTopics
    let streamLimit: Int
    let opensNarrow = false
    let projects: FCMProjects
    let tokens: AccessTokens
    let quota: TopicQuota
    /// 400 or 429.
    let limitStatus: Int
    let subscriptions: TopicSubscriptions

    func serves(_ head: RequestHead) -> Bool { TopicRequest.serves(head.path) }

    func target(of head: RequestHead) -> String { TopicRequest(head.path)?.registration ?? "" }

    func makeSession(for client: TLSClient) -> any ProviderSession { TopicSession(simulator: self) }
}

/// The topic API's state of one connection.
final class TopicSession: ProviderSession {
    private static let longestPage = 1000

    private let simulator: TopicSimulator
    private var credentials: AccessTokenState

    init(simulator: TopicSimulator) {
        self.simulator = simulator
        credentials = AccessTokenState(simulator.tokens)
    }

    func judge(_ request: PushRequest) -> Judgement {
        guard let topic = TopicRequest(request.head.path) else {
            return Judgement(answer: .page(404, "The requested URL was not found on this server."), delivers: false)
        }
        guard let operation = topic.operation(request.head.method) else {
            let text = "The request method is inappropriate for the URL."
            return Judgement(target: topic.registration, answer: .page(405, text), delivers: false)
        }
        var judgement = Judgement(target: topic.registration, answer: ProviderAnswer(status: 200), delivers: false)
        if operation == .create || operation == .delete {
            judgement.membership = "\(operation) \(topic.topic) \(topic.registration)"
        }
        if let failure = failure(operation, topic, request) {
            judgement.answer = failure.answer
        } else {
            perform(operation, topic, request, &judgement)
        }
        return judgement
    }

    private func failure(_ operation: TopicRequest.Operation, _ topic: TopicRequest, _ request: PushRequest)
        -> GoogleError?
    {
        let now = request.unixMicroseconds / 1_000_000
        let access = simulator.projects.failure(
            credentials.check(request.head.header("authorization"), now: now),
            project: topic.project,
            permission: operation.permission
        )
        if let access { return access }
        if operation == .create, JSONParser.parse(request.bytes)?.members == nil {
            return GoogleError(status: 400, message: "Invalid JSON payload received. Unexpected token.")
        }
        if operation != .list, !Self.isTopic(topic.topic) {
            return GoogleError(
                status: 400,
                message: "Invalid topic name.",
                violations: [.init(field: "topic_name", description: "Invalid topic name.")]
            )
        }
        if operation != .list, operation != .get, !simulator.quota.take(now: now) {
            let text = "Quota exceeded for topic subscription changes of project \(simulator.projects.id)."
            return GoogleError(status: 429, message: text, retryAfter: 1)
        }
        guard FCMToken.isWellFormed(topic.registration) else {
            return GoogleError(status: 404, message: "Requested entity was not found.", code: .unregistered)
        }
        return nil
    }

    private static func isTopic(_ name: String) -> Bool { name.utf8.count <= 900 && FCMCondition.isTopic(name) }

    private func perform(
        _ operation: TopicRequest.Operation,
        _ topic: TopicRequest,
        _ request: PushRequest,
        _ judgement: inout Judgement
    ) {
        let (store, registration, name) = (simulator.subscriptions, topic.registration, topic.topic)
        let found = operation == .list ? nil : store.find(registration, name)
        switch operation {
        case .list: judgement.answer = list(topic)
        case .get: judgement.answer = found.map { .json(200, json($0, of: registration)) } ?? Self.missing
        case .create where found != nil:
            judgement.answer =
                GoogleError(status: 409, message: "Requested entity already exists", statusName: "ALREADY_EXISTS")
                .answer
        case .update where found == nil && !topic.allowsMissing: judgement.answer = Self.missing
        case .create, .update:
            let new = found ?? .init(topic: name, createdAt: request.unixMicroseconds)
            guard found != nil || store.all(of: registration).count < store.mostTopics else {
                judgement.answer =
                    GoogleError(
                        status: simulator.limitStatus,
                        message: "Too many topics: a registration has at most \(store.mostTopics)."
                    ).answer
                return
            }
            judgement.answer = .json(200, json(new, of: registration))
            judgement.effect = { store.add(registration, new) }
        case .delete where found == nil && !topic.allowsMissing: judgement.answer = Self.missing
        case .delete:
            judgement.answer = .json(200, "{}")
            judgement.effect = { store.remove(registration, name) }
        }
    }

    private static let missing = GoogleError(status: 404, message: "Requested entity was not found.").answer

    /// Answers with a page of subscriptions; the token of the next page is the number of those before it.
    private func list(_ topic: TopicRequest) -> ProviderAnswer {
        let all = simulator.subscriptions.all(of: topic.registration)
        let size = topic.value("pageSize", "page_size").flatMap { Int($0) } ?? 0
        let start = topic.value("pageToken", "page_token").map { Int($0) ?? -1 } ?? 0
        guard size >= 0, (0...all.count).contains(start) else {
            return GoogleError(status: 400, message: "Request contains an invalid argument.").answer
        }
        let page = all.dropFirst(start).prefix(size == 0 ? Self.longestPage : min(size, Self.longestPage))
        let items = page.map { json($0, of: topic.registration) }.joined(separator: ",")
        let next = page.endIndex < all.endIndex ? #","nextPageToken":"\#(page.endIndex)""# : ""
        return .json(200, #"{"topicSubscriptions":[\#(items)]\#(next)}"#)
    }

    private func json(_ subscription: TopicSubscriptions.Subscription, of registration: String) -> String {
        let parent = "projects/\(simulator.projects.id)/registrations/\(registration)"
        let name = JSONValue.quoted("\(parent)/topicSubscriptions/\(subscription.topic)")
        let time = Date(timeIntervalSince1970: Double(subscription.createdAt) / 1_000_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        return
            #"{"name":\#(name),"topic_name":\#(JSONValue.quoted(subscription.topic)),"create_time":\#(JSONValue.quoted(time))}"#
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        GoogleError.answer(fault, project: simulator.projects.id)
    }
}
