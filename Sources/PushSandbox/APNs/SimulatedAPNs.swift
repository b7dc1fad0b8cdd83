/// The simulation of Apple's service.
struct SimulatedAPNs: SimulatedProvider {
    let name = "apns"
    let services = [SimulatedService.apns]

    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator] {
        let options = parts.options
        return [
            APNsSimulator(
                streamLimit: options.streamLimit,
                verifier: ProviderTokenVerifier(
                    teamID: options.teamID,
                    keyID: options.keyID,
                    publicKey: parts.folder.apnsKey
                ),
                topics: APNsTopics(bundleIDs: options.topics),
                order: options.validationOrder,
                authority: try parts.folder.authorityCertificate()
            )
        ]
    }

    func configuration(_ place: SandboxPlace) -> [String] {
        let options = place.options
        return [
            "team_id: \(SandboxPlace.quoted(options.teamID))",
            "key_id: \(SandboxPlace.quoted(options.keyID))",
            "key_file: \(SandboxPlace.quoted("AuthKey_\(options.keyID).p8"))",
            "# Or, instead of these three, certificate_file: \(SandboxFolder.FileName.certificate)",
            "topic: \(SandboxPlace.quoted(options.topics.first ?? ""))",
            "endpoint: \(place.origin)",
            "sandbox_endpoint: \(place.sandboxOrigin)",
            "ca_file: ca.pem",
        ]
    }

    /// Returns a device whose token is the name in hexadecimal.
    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice? {
        let spelled = name.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard !spelled.isEmpty else { return nil }
        let token = String(repeating: spelled, count: 64 / spelled.utf8.count + 1).prefix(64)
        return SimulatedDevice(provider: self.name, token: String(token))
    }
}

extension SimulatedService {
    /// The service for pushes to Apple's devices.
    static let apns = SimulatedService(
        rawValue: "apns",
        success: "the simulated iPhone got a push",
        tellingHeaders: [
            "apns-topic", "apns-push-type", "apns-priority", "apns-collapse-id", "apns-expiration", "apns-id",
            "apns-channel-id",
        ],
        status: { APNsRejection(rawValue: $0)?.status },
        shown: { lines(of: $0?["aps"]?.members) }
    )

    private static func lines(of aps: JSONObject?) -> [String] {
        guard let aps else { return ["(no aps dictionary)"] }
        var lines: [String] = []
        switch aps["alert"] {
        case .string(let text)?: lines.append(text)
        case .object(let alert)?:
            for key in ["title", "subtitle", "body"] {
                if let text = alert[key]?.text {
                    lines.append(text)
                } else if let localized = alert[key == "body" ? "loc-key" : key + "-loc-key"]?.text {
                    lines.append("(\(localized))")
                }
            }
        default: break
        }
        if case .integer(let badge)? = aps["badge"] { lines.append("badge \(badge)") }
        if let sound = aps["sound"]?.text { lines.append("sound \(sound)") }
        return lines.isEmpty ? [nothingToSee] : lines
    }
}
