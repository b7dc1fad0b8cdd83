package import FanfareConfiguration
package import FanfareCore
internal import Foundation
internal import PushCrypto
package import PushTransport

/// Apple Push Notification service.
package struct APNsProvider: Provider {
    package var block: ConfigurationBlock {
        ConfigurationBlock(APNsSettings.self, title: "APNs", keys: APNsSettings.keys) { section, origin, reader in
            APNsCredentialsCheck(section: section, origin: origin).check(&reader)
        }
    }

    package var kinds: Set<DeviceKind> { Set(DeviceKind.allCases) }

    package func content(
        _ parts: [MessagePart],
        rule: RuleDefinition
    ) throws(RuleProblem) -> (any ProviderContent)? {
        try APNsContent.compile(parts, rule: rule)
    }

    package var addedHeaders: String { "authorization and apns-id are" }

    package func isSilent(_ headers: [(name: String, value: String)]) -> Bool {
        headers.contains { $0.name == APNsHeaders.pushType && $0.value == APNsPushType.background.rawValue }
    }

    package func bodyLimit(_ headers: [(name: String, value: String)]) -> Int? {
        headers.first { $0.name == APNsHeaders.pushType }.flatMap { APNsPushType(rawValue: $0.value) }?.payloadLimit
    }

    package func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress? {
        let prefix = "/3/device/"
        var path: [UInt8] = []
        path.reserveCapacity(prefix.utf8.count + recipient.token.utf8.count)
        path.append(contentsOf: prefix.utf8)
        path.append(contentsOf: recipient.token.utf8)
        return .shared(path: path, insertion: [])
    }

    package var invalidRecipient: Outcome { .apnsBadDeviceToken }

    package func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress? {
        guard case .channel = audience else { return nil }
        return .shared(path: Array("/4/broadcasts/apps/\(identity.topic)".utf8), insertion: [])
    }

    package var outcomes: OutcomeBlock { .apns }

    package func senders(
        _ settings: APNsSettings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders {
        var tokens: ProviderTokens?
        if settings.certificateFile == nil {
            let issuer = ProviderTokens.Issuer(
                keyID: settings.keyID,
                teamID: settings.teamID,
                keyDigest: parts.digests[settings.keyFile]
            )
            // APNs rejects a token that changes within 20 minutes, so a reload that keeps the key also keeps its token.
            let kept = (before?.pools.first?.access as? APNsAccess)?.tokens.flatMap { $0.issuer == issuer ? $0 : nil }
            let key = try parts.files.signingKey(settings, app: app)
            tokens = kept ?? ProviderTokens(key: key, issuer: issuer)
        }
        var options = parts.options(caFile: settings.caFile)
        options.clientCertificate = try parts.files.clientCertificate(settings, app: app)
        let access = APNsAccess(tokens: tokens)
        var pools: [ProviderPool] = []
        for (environment, endpoint) in settings.environments {
            let make = try parts.transports(to: endpoint, options, key: "apps.\(app).apns.ca_file")
            pools.append(ProviderPool(environment: environment, access: access, makeTransport: make))
        }
        return ProviderSenders(pools, identity: ProviderIdentity(topic: settings.topic))
    }

    package func descriptors(_ costs: DescriptorCosts) -> Int { 2 * costs.pool }

    package func credentials(_ settings: APNsSettings, _ checkup: CredentialCheckup) -> [ProviderCredential] {
        guard settings.certificateFile == nil else {
            return [
                ProviderCredential(name: "APNs certificate") { () throws(DaemonError) in
                    try checkup.files.certificate(settings, app: checkup.app, now: checkup.now)?.notAfter
                }
            ]
        }
        return [
            ProviderCredential(name: "APNs key") { () throws(DaemonError) in
                _ = try checkup.files.signingKey(settings, app: checkup.app)
                return nil
            }
        ]
    }

    package func checkup(_ settings: APNsSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        let credential = settings.certificateFile == nil ? key(settings, checkup) : certificate(settings, checkup)
        return [credential] + checkup.trustItem(title, settings.caFile, settings.endpoint)
    }

    private func key(_ settings: APNsSettings, _ checkup: CredentialCheckup) -> CheckItem {
        checkup.item("APNs key") { item throws(DaemonError) in
            _ = try checkup.files.signingKey(settings, app: checkup.app)
            return CheckItem(.ok, item, "\(settings.keyFile): EC P-256 key, file permissions OK")
        }
    }

    /// The remaining validity below which a certificate gets a warning, in seconds.
    private static let notice: Int64 = 30 * 86_400

    private func certificate(_ settings: APNsSettings, _ checkup: CredentialCheckup) -> CheckItem {
        checkup.item("APNs certificate") { item throws(DaemonError) in
            guard
                let certificate = try checkup.files.certificate(settings, app: checkup.app, now: checkup.now)
            else { return CheckItem(.fail, item, "none is configured", advice: "Set certificate_file.") }
            let end = Date(timeIntervalSince1970: TimeInterval(certificate.notAfter)).ISO8601Format()
            let topics = certificate.topics.map(\.name).joined(separator: ", ")
            let detail = "\(certificate.source) is valid until \(end), for \(topics)"
            guard certificate.notAfter - checkup.now < Self.notice else { return CheckItem(.ok, item, detail) }
            let days = (certificate.notAfter - checkup.now) / 86_400
            let left = days == 1 ? "1 day" : "\(days) days"
            return CheckItem(
                .warn,
                item,
                "\(detail): \(left) left",
                advice: "Renew it on Apple's developer site, replace the file and send the daemon HUP."
            )
        }
    }

    package func probe(_ settings: APNsSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        APNsProbe.all(of: checkup.app, settings, over: checkup.transports).map { $0.item(checkup.files) }
    }
}

extension APNsSettings {
    /// Both environments, production first.
    package var environments: [(name: String, endpoint: Endpoint)] {
        [("production", endpoint), ("sandbox", sandboxEndpoint)]
    }
}

extension PushProvider {
    /// See ``APNsProvider``.
    package static var apns: PushProvider { PushProvider(rawValue: APNsSettings.name) }
}
