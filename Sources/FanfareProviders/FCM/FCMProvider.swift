package import FanfareConfiguration
package import FanfareCore
internal import PushCrypto
internal import PushTransport

/// Firebase Cloud Messaging over its HTTP v1 API.
package struct FCMProvider: Provider {
    package var block: ConfigurationBlock {
        ConfigurationBlock(FCMSettings.self, title: "FCM", keys: FCMSettings.keys)
    }

    package func content(
        _ parts: [MessagePart],
        rule: RuleDefinition
    ) throws(RuleProblem) -> (any ProviderContent)? {
        try FCMContent.compile(parts, rule: rule)
    }

    package var addedHeaders: String { "authorization is" }

    package func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress? {
        guard recipient.isInstallation else {
            return .shared(path: identity.path, insertion: FCMTarget.token(recipient.token).insertion)
        }
        // FCM answers a malformed FID as one that is gone, so such an answer would be no evidence.
        guard Self.isInstallationID(recipient.token) else { return nil }
        return .shared(path: identity.path, insertion: FCMTarget.installation(recipient.token).insertion)
    }

    /// Returns whether a text has the alphabet of Firebase installation ids (base64url); their length is not promised.
    private static func isInstallationID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    package var invalidRecipient: Outcome { .fcmInvalidToken }

    package func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress? {
        audience.fcm.map { .shared(path: identity.path, insertion: $0.insertion) }
    }

    package var outcomes: OutcomeBlock { .fcm }

    package func senders(
        _ settings: FCMSettings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders {
        let account = try parts.files.serviceAccount(settings, app: app)
        let url: HTTPSURL
        do throws(EndpointError) {
            url = try HTTPSURL(account.tokenURI)
        } catch {
            throw DaemonError(
                .configuration,
                "apps.\(app).fcm.service_account_file: token_uri: \(error)",
                hint: "Use the file as the Firebase console made it."
            )
        }
        let options = parts.options(caFile: settings.caFile)
        let make = try parts.transports(to: settings.endpoint, options, key: "apps.\(app).fcm.ca_file")
        let tokens = OAuthTokens(
            account: account,
            url: url,
            caFile: settings.caFile,
            proxy: parts.proxy,
            logger: parts.logger
        )
        let pool = ProviderPool(
            environment: "production",
            access: FCMAccess(tokens: tokens),
            makeTransport: make
        )
        let path = Array(FCMRequest.path(project: account.projectID).utf8)
        return ProviderSenders([pool], identity: ProviderIdentity(path: path, asksForPreview: settings.usesAndroidV2))
    }

    /// Adds 2 to the pool's cost, because fetching a token takes its own connection.
    package func descriptors(_ costs: DescriptorCosts) -> Int { costs.pool + 2 }

    package func credentials(_ settings: FCMSettings, _ checkup: CredentialCheckup) -> [ProviderCredential] {
        [
            ProviderCredential(name: "FCM service account") { () throws(DaemonError) in
                _ = try checkup.files.serviceAccount(settings, app: checkup.app)
                return nil
            }
        ]
    }

    package func checkup(_ settings: FCMSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        let account = checkup.item("FCM service account") { item throws(DaemonError) in
            let account = try checkup.files.serviceAccount(settings, app: checkup.app)
            return CheckItem(.ok, item, "\(account.clientEmail), for project \(account.projectID)")
        }
        return [account] + checkup.trustItem(title, settings.caFile, settings.endpoint)
    }

    package func probe(_ settings: FCMSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        [
            FCMProbe(app: checkup.app, credentials: settings, transports: checkup.transports)
                .item(checkup.files)
        ]
    }
}

extension PushProvider {
    /// See ``FCMProvider``.
    package static var fcm: PushProvider { PushProvider(rawValue: FCMSettings.name) }
}
