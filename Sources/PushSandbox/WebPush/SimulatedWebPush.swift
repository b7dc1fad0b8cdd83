/// The simulation of the push services of browsers.
struct SimulatedWebPush: SimulatedProvider {
    let name = "webpush"
    let services = [SimulatedService.webpush]

    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator] {
        [
            WebPushSimulator(
                streamLimit: parts.options.openStreamLimit,
                fingerprint: VAPIDCredential.fingerprint(of: parts.folder.vapidPublicKey),
                subscribers: Subscribers(secret: parts.folder.subscriberSecret),
                decrypts: !parts.options.sink
            )
        ]
    }

    func configuration(_ place: SandboxPlace) -> [String] {
        [
            "vapid_key_file: \(SandboxFolder.FileName.vapidKey)",
            "subject: \(SandboxPlace.quoted(place.options.vapidSubject))",
            "allowed_hosts: [ \"localhost\" ]",
            "allowed_networks: [ \"127.0.0.1/32\", \"::1/128\" ]",
            "ca_file: ca.pem",
        ]
    }

    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice? {
        let maker = SubscriptionMaker(subscribers: Subscribers(secret: place.secret), origin: place.origin)
        guard let browser = try? maker.subscription(name, .rfc, .sandbox) else { return nil }
        return SimulatedDevice(
            provider: self.name,
            token: browser.endpoint,
            p256dh: browser.keys.p256dh,
            auth: browser.keys.auth
        )
    }
}

extension SimulatedService {
    /// The service for messages to browsers, which are decrypted as a browser does.
    static let webpush = SimulatedService(
        rawValue: "webpush",
        success: "the simulated browser got a push",
        targetName: "endpoint",
        tellingHeaders: ["ttl", "urgency", "topic"],
        status: { WebPushRejection(rawValue: $0)?.status },
        shown: { lines(of: $0?["notification"]?.members) }
    )
}
