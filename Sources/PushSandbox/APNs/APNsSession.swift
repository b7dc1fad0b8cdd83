/// APNs' side of one connection.
final class APNsSession: ProviderSession {
    private let simulator: APNsSimulator
    private let checks: [APNsCheck]
    private var credentials: APNsCredentialState

    init(simulator: APNsSimulator) {
        self.simulator = simulator
        checks = APNsCheck.inOrder(simulator.order)
        credentials = APNsCredentialState(simulator.verifier)
    }

    func judge(_ request: PushRequest) -> Judgement {
        let parsed = APNsRequest(request)
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

    /// Set by the credential check of the request at hand.
    private var isTrusted = false

    private func firstFailure(_ parsed: APNsRequest) -> APNsRejection? {
        isTrusted = false
        for check in checks {
            let failure =
                switch check {
                case .credential: credentialFailure(parsed)
                case .topicCovered: topicFailure(parsed)
                default: parsed.failure(of: check)
                }
            if let failure { return failure }
        }
        return nil
    }

    private func credentialFailure(_ parsed: APNsRequest) -> APNsRejection? {
        let failure = credentials.check(
            parsed.headers.authorization,
            now: parsed.request.unixMicroseconds / 1_000_000
        )
        isTrusted = failure == nil
        return failure
    }

    private func topicFailure(_ parsed: APNsRequest) -> APNsRejection? {
        guard let topic = parsed.headers.topic else { return nil }
        guard simulator.topics.covers(topic) else {
            return simulator.order == .pushy ? .invalidProviderToken : .topicDisallowed
        }
        // Which reason a missing suffix really gets is not documented.
        return simulator.topics.fits(topic, parsed.type) ? nil : .badTopic
    }

    /// The id sent, in lower case, or a new one.
    private func responseID(_ parsed: APNsRequest) -> String {
        guard let id = parsed.headers.id, CanonicalUUID.isValid(id) else { return CanonicalUUID.random() }
        return id.lowercased()
    }

    private func answer(to rejection: APNsRejection, headers: [(name: String, value: String)]) -> ProviderAnswer {
        ProviderAnswer(
            status: rejection.status,
            reason: rejection.rawValue,
            headers: headers + [(name: "content-type", value: "application/json")],
            body: #"{"reason":"\#(rejection.rawValue)"}"#
        )
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let status = fault.status ?? fault.reason.flatMap(APNsRejection.init(rawValue:))?.status ?? 500
        let base = judgement.answer.headers.filter { $0.name == "apns-id" }
        guard status != 200 else { return ProviderAnswer(status: status, headers: base, body: fault.body) }
        var headers = base + [(name: "content-type", value: "application/json")]
        if let seconds = fault.retryAfter {
            headers.append((name: "retry-after", value: seconds))
        }
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
