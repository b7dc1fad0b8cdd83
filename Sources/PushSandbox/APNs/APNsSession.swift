/// APNs' state of one connection.
final class APNsSession: ProviderSession {
    let simulator: APNsSimulator
    let isTrustedFromStart: Bool
    private let checks: [APNsCheck]
    private var credentials: APNsCredentialState
    /// The client's certificate, which takes the place of provider tokens.
    private let certificate: APNsCertificate?
    private let topics: APNsTopics

    init(simulator: APNsSimulator, client: TLSClient) {
        self.simulator = simulator
        checks = APNsCheck.inOrder(simulator.order)
        credentials = APNsCredentialState(simulator.verifier)
        let certificate = client.certificate.flatMap { APNsCertificate($0, issuer: simulator.authority) }
        let now = client.unixMicroseconds / 1_000_000
        isTrustedFromStart = certificate.map { $0.failure(in: client.environment, now: now) == nil } ?? false
        topics = certificate.map { APNsTopics(bundleIDs: $0.bundleIDs) } ?? simulator.topics
        self.certificate = certificate
    }

    func judge(_ request: PushRequest) -> Judgement {
        isTrusted = false
        if let broadcast = BroadcastRequest(request) {
            return judge(broadcast)
        }
        let parsed = APNsRequest(request, defaultTopic: certificate?.defaultTopic)
        let rejection = firstFailure(parsed)
        let id = responseID(parsed)
        var headers = [(name: "apns-id", value: id)]
        if request.environment == .sandbox, rejection == nil {
            headers.append((name: "apns-unique-id", value: CanonicalUUID.random()))
        }
        return Judgement(
            target: parsed.deviceToken ?? "",
            identity: parsed.headers.id == nil ? nil : id,
            trusted: isTrusted,
            answer: rejection.map { answer(to: $0, headers: headers) } ?? ProviderAnswer(status: 200, headers: headers)
        )
    }

    /// Whether the current request has passed the credential check.
    private(set) var isTrusted = false

    private func firstFailure(_ parsed: APNsRequest) -> APNsRejection? {
        for check in checks {
            let failure =
                switch check {
                case .credential: credentialFailure(parsed.request, parsed.headers.authorization)
                case .topicCovered: topicFailure(parsed)
                // The only push type that is documented as not allowed with certificates.
                case .pushType where certificate != nil && parsed.type == .location: APNsRejection.invalidPushType
                default: parsed.failure(of: check)
                }
            if let failure { return failure }
        }
        return nil
    }

    /// Checks the certificate, or without one the provider token.
    func credentialFailure(_ request: PushRequest, _ authorization: String?) -> APNsRejection? {
        let now = request.unixMicroseconds / 1_000_000
        let failure =
            if let certificate {
                certificate.failure(in: request.environment, now: now)
            } else {
                credentials.check(authorization, now: now)
            }
        isTrusted = failure == nil
        return failure
    }

    private func topicFailure(_ parsed: APNsRequest) -> APNsRejection? {
        guard let topic = parsed.topic else { return nil }
        guard covers(topic) else {
            guard simulator.order == .pushy else { return .topicDisallowed }
            return certificate == nil ? .invalidProviderToken : .badTopic
        }
        // The real service's reason for a missing suffix is not documented.
        return topics.fits(topic, parsed.type) ? nil : .badTopic
    }

    /// Returns whether the credential covers a topic.
    func covers(_ topic: String) -> Bool {
        topics.covers(topic)
    }

    /// Returns whether the credential covers an app.
    func covers(bundleID: String) -> Bool {
        topics.fits(bundleID, .alert)
    }

    /// Returns the request's id in lower case, or a new id.
    private func responseID(_ parsed: APNsRequest) -> String {
        guard let id = parsed.headers.id, CanonicalUUID.isValid(id) else { return CanonicalUUID.random() }
        return id.lowercased()
    }

    func answer(to rejection: APNsRejection, headers: [(name: String, value: String)]) -> ProviderAnswer {
        ProviderAnswer(
            status: rejection.status,
            reason: rejection.rawValue,
            headers: headers + [(name: "content-type", value: "application/json")],
            body: #"{"reason":"\#(rejection.rawValue)"}"#
        )
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let status = fault.status ?? fault.reason.flatMap(APNsRejection.init(rawValue:))?.status ?? 500
        let base = judgement.answer.headers.filter { $0.name == "apns-id" || $0.name == "apns-request-id" }
        guard status != 200 else { return ProviderAnswer(status: status, headers: base, body: fault.body) }
        var headers = base + [(name: "content-type", value: "application/json")]
        headers += fault.headers
        return ProviderAnswer(
            status: status,
            reason: fault.reason,
            headers: headers,
            body: fault.body ?? body(of: fault, status: status, unixMicroseconds: unixMicroseconds)
        )
    }

    private func body(of fault: StatusFault, status: Int, unixMicroseconds: Int64) -> String? {
        guard let reason = fault.reason else { return nil }
        var line = JSONLine()
        line.append(raw: #"{"reason":"#)
        line.append(string: reason)
        if let milliseconds = fault.timestamp.milliseconds(status: status, now: unixMicroseconds / 1000) {
            line.append(raw: #","timestamp":"#)
            line.append(integer: milliseconds)
        }
        line.append(raw: "}")
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
