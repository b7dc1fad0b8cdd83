internal import FanfareCore
internal import PushTransport

/// Tests whether one environment of APNs accepts the credentials.
struct APNsProbe {
    /// A path with an invalid device token; real tokens are hexadecimal.
    private static let path = Array("/3/device/fanfare-check".utf8)

    let credentials: APNsSettings
    private let app: String
    private let probe: ProviderProbe

    init(
        app: String,
        environmentName: String,
        endpoint: Endpoint,
        credentials: APNsSettings,
        transports: ProviderTransports
    ) {
        self.app = app
        self.credentials = credentials
        probe = ProviderProbe(
            name: "APNs \(environmentName) for \(app)",
            endpoint: endpoint,
            transports: transports
        )
    }

    /// Returns a probe for each environment.
    static func all(of app: String, _ apns: APNsSettings, over transports: ProviderTransports) -> [APNsProbe] {
        apns.environments.map { environmentName, endpoint in
            APNsProbe(
                app: app,
                environmentName: environmentName,
                endpoint: endpoint,
                credentials: apns,
                transports: transports
            )
        }
    }

    /// Sends the request and judges the answer.
    ///
    /// - Parameter files: reads the key or certificate.
    /// - Returns: the finding.
    func item(_ files: CredentialFiles) -> CheckItem {
        probe.item { judge(try ask(files)) }
    }

    private func ask(_ files: CredentialFiles) throws -> PushAnswer {
        let proof = try APNsProof(credentials, app: app, files: files)
        var options = TransportOptions()
        options.caFile = credentials.caFile
        options.clientCertificate = proof.clientCertificate
        let fields = [
            try HeaderField("apns-topic", credentials.topic),
            try HeaderField("apns-push-type", "alert"),
        ]
        let body = PushBody(Array(#"{"aps":{}}"#.utf8))
        let request = try PushRequest(tag: 1, path: Self.path, head: HeaderBlock(fields + proof.fields), body: body)
        return try probe.answer(to: request, options: options)
    }

    private var what: String { credentials.certificateFile == nil ? "key" : "certificate" }

    /// Judges an answer: BadDeviceToken means that APNs accepted everything before the token.
    func judge(_ answer: PushAnswer) -> CheckItem {
        guard answer.fate == .answered else { return probe.unanswered(answer.detail) }
        let (status, reason) = (answer.status, APNsErrorBody(parsing: answer.body).reason ?? "no reason")
        switch (status, reason) {
        case (400, "BadDeviceToken"): return CheckItem(.ok, probe.name, "\(probe.endpoint) takes \(what) and topic")
        case (403, "InvalidProviderToken"):
            return probe.said(.fail, status, reason, "Do team_id, key_id and key_file belong together?")
        case (403, "BadCertificate"):
            return probe.said(.fail, status, reason, "Is it a certificate for push, neither expired nor revoked?")
        case (403, "BadEnvironmentKeyIdInToken"), (403, "BadCertificateEnvironment"):
            return probe.said(
                .warn,
                status,
                "\(reason): this \(what) is not for this environment",
                "Harmless if no device is registered there; else make a \(what) for both."
            )
        case (403, "ExpiredProviderToken"): return probe.said(.fail, status, reason, "Is this machine's clock right?")
        case (400, "TopicDisallowed"), (400, "BadTopic"), (400, "DeviceTokenNotForTopic"):
            return probe.said(.fail, status, reason, "Is topic the app's bundle id, and the \(what) allowed for it?")
        case (429, _), (500..., _): return probe.said(.warn, status, reason, "Try again later.")
        default:
            return probe.said(.fail, status, reason, "Look up the reason in Apple's documentation of APNs.")
        }
    }
}
