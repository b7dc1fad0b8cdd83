internal import FanfareCore
internal import HTTP2Client
internal import PushCrypto
internal import PushTransport

/// Asks a provider whether it takes the credentials, by one request that no device can get.
struct ProviderProbe {
    /// No provider issues a token that is no hexadecimal number.
    private static let path = Array("/3/device/fanfare-check".utf8)
    private static let patience = Duration.seconds(20)

    let app: String
    let environmentName: String
    let endpoint: Endpoint
    let credentials: Configuration.APNS

    private var name: String { "APNs \(environmentName) for \(app)" }

    /// Asks and judges.
    ///
    /// - Parameter environment: variables of the process.
    /// - Returns: what it said.
    func item(environment: [String: String]) -> CheckItem {
        do {
            return judge(try ask(environment))
        } catch {
            return CheckItem(.fail, name, ToolError(error).reason, advice: ToolError(error).hint)
        }
    }

    private func ask(_ environment: [String: String]) throws -> PushAnswer {
        let key = try CredentialFiles(environment: environment).signingKey(credentials, app: app)
        let tokens = ProviderTokens(key: key, keyID: credentials.keyID, teamID: credentials.teamID)
        let token = try tokens.current(at: Clocks.steady, wall: Clocks.wall)
        let head = try HeaderBlock([
            HeaderField("authorization", token.authorization ?? ""),
            HeaderField("apns-topic", credentials.topic),
            HeaderField("apns-push-type", "alert"),
        ])
        let body = PushBody(Array(#"{"aps":{}}"#.utf8))
        let request = try PushRequest(tag: 1, path: Self.path, head: head, body: body)
        var options = TransportOptions()
        options.connections = 1
        options.caFile = credentials.caFile
        let transport = try HTTP2Client(endpoint: endpoint, options: options)
        let deadline = ContinuousClock.now + Self.patience
        transport.sendUntil = deadline
        _ = transport.submit([request])
        var answers: [PushAnswer] = []
        while answers.isEmpty, ContinuousClock.now < deadline {
            transport.poll(timeout: .milliseconds(200), into: &answers)
        }
        transport.close(into: &answers)
        return answers.first ?? PushAnswer(tag: 1, without: .ambiguous, cause: .deadline, detail: "no answer came")
    }

    /// Judges an answer: a bad device token means that everything before the token was in order.
    func judge(_ answer: PushAnswer) -> CheckItem {
        guard answer.fate == .answered else {
            let advice = "Is \(endpoint) reachable from here, and its certificate trusted?"
            return CheckItem(.fail, name, "no answer: \(answer.detail)", advice: advice)
        }
        let reason = APNSErrorBody(parsing: answer.body).reason ?? "no reason"
        switch (answer.status, reason) {
        case (400, "BadDeviceToken"): return CheckItem(.ok, name, "\(endpoint) takes key and topic")
        case (403, "InvalidProviderToken"):
            return refused(answer, reason, "Do team_id, key_id and key_file belong together?")
        case (403, "BadEnvironmentKeyIdInToken"):
            return CheckItem(
                .warn,
                name,
                "\(endpoint) says \(reason): this key is not for this environment",
                advice: "Harmless if no device is registered there; else make a key for both."
            )
        case (403, "ExpiredProviderToken"): return refused(answer, reason, "Is this machine's clock right?")
        case (400, "TopicDisallowed"), (400, "BadTopic"), (400, "DeviceTokenNotForTopic"):
            return refused(answer, reason, "Is topic the app's bundle id, and the key allowed for it?")
        case (429, _), (500..., _):
            return CheckItem(.warn, name, "\(endpoint) says \(answer.status) \(reason)", advice: "Try again later.")
        default: return refused(answer, reason, "Look up the reason in Apple's documentation of APNs.")
        }
    }

    private func refused(_ answer: PushAnswer, _ reason: String, _ advice: String) -> CheckItem {
        CheckItem(.fail, name, "\(endpoint) says \(answer.status) \(reason)", advice: advice)
    }
}
