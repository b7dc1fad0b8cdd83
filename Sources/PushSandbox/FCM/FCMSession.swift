/// FCM's state of one connection.
final class FCMSession: ProviderSession {
    private let simulator: FCMSimulator
    private var credentials: AccessTokenState
    private var sent: UInt64 = 0

    init(simulator: FCMSimulator) {
        self.simulator = simulator
        credentials = AccessTokenState(simulator.tokens)
    }

    func judge(_ request: PushRequest) -> Judgement {
        let path = request.head.path.split(separator: "?").first ?? ""
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[1] == "v1", parts[2] == "projects", parts[4] == "messages:send" else {
            return Judgement(target: "", answer: .page(404, "The requested URL was not found on this server."))
        }
        guard request.head.method == "POST" else {
            return Judgement(target: "", answer: .page(405, "The request method is inappropriate for the URL."))
        }
        let now = request.unixMicroseconds / 1_000_000
        let failure = simulator.projects.failure(
            credentials.check(request.head.header("authorization"), now: now),
            project: String(parts[3]),
            permission: "cloudmessaging.messages.create"
        )
        if let failure {
            return Judgement(target: "", answer: failure.answer)
        }
        guard let root = JSONParser.parse(request.bytes)?.members else {
            let text = "Invalid JSON payload received. Unexpected token."
            return Judgement(target: "", answer: GoogleError(status: 400, message: text).answer)
        }
        return judge(root, request, now: now)
    }

    private func judge(_ root: JSONObject, _ request: PushRequest, now: Int64) -> Judgement {
        let message = FCMMessage(root)
        let failure =
            FCMSchemaCheck.failure(root)
            ?? message.failure(packageName: simulator.packageName)
            ?? registrationFailure(message)
            ?? quotaFailure(message, now: now)
        let target = message.targets.first
        return Judgement(
            target: target?.name ?? "",
            identity: message.identity,
            answer: failure?.answer ?? success(message, at: request.unixMicroseconds),
            delivers: !message.validatesOnly
        )
    }

    private func registrationFailure(_ message: FCMMessage) -> GoogleError? {
        guard let target = message.targets.first, !simulator.installations.reaches(target) else { return nil }
        return GoogleError(status: 404, message: FCMErrorCode.unregistered.text, code: .unregistered)
    }

    private func quotaFailure(_ message: FCMMessage, now: Int64) -> GoogleError? {
        if let seconds = simulator.quota.secondsToWaitForProject(now: now) {
            return .quota("project:\(simulator.projects.id)", "Project message rate exceeded", retryAfter: seconds)
        }
        guard let target = message.targets.first, target.isDevice, !message.validatesOnly else { return nil }
        // Without Retry-After, so that a client meets both forms.
        return simulator.quota.hasRoom(for: target.name, now: now)
            ? nil : .quota("device", "Device message rate exceeded", retryAfter: nil)
    }

    private func success(_ message: FCMMessage, at unixMicroseconds: Int64) -> ProviderAnswer {
        sent += 1
        let id =
            if message.validatesOnly {
                "fake_message_id"
            } else if message.targets.first?.isDevice == true {
                "0:\(unixMicroseconds)%" + String(unixMicroseconds &+ Int64(sent), radix: 16)
            } else {
                String(UInt64(unixMicroseconds) &* 1000 &+ sent % 1000)
            }
        return .json(200, #"{"name":"projects/\#(simulator.projects.id)/messages/\#(id)"}"#)
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        GoogleError.answer(fault, project: simulator.projects.id)
    }
}
