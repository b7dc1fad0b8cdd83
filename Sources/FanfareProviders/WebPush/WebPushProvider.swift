package import FanfareConfiguration
package import FanfareCore
internal import PushCrypto
internal import PushTransport

/// Web Push (RFC 8030), over the push service of each browser.
package struct WebPushProvider: Provider {
    package var block: ConfigurationBlock {
        ConfigurationBlock(
            WebPushSettings.self,
            title: "Web Push",
            keys: WebPushSettings.keys,
            connectsDirectly: true
        )
    }

    package func content(
        _ parts: [MessagePart],
        rule: RuleDefinition
    ) throws(RuleProblem) -> (any ProviderContent)? {
        try WebPushContent.compile(parts, rule: rule)
    }

    package var addedHeaders: String { "authorization and content-encoding are" }

    package var bodyNote: String { " before it is encrypted" }

    package func bodyLimit(_ headers: [(name: String, value: String)]) -> Int? { WebPushContent.payloadLimit }

    package func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress? {
        guard let url = try? HTTPSURL(recipient.token), !url.origin.isNowhere,
            let p256dh = recipient.p256dh, let auth = recipient.auth,
            let keys = try? SubscriptionKeys(p256dh: p256dh, auth: auth)
        else { return nil }
        return .url(url, keys)
    }

    package func fault(of recipient: Recipient) -> RecipientError? {
        let ended = "The browser has ended this subscription: have the page subscribe again and register the new one."
        if let fault = recipient.urlError(ofNowhere: ended) { return fault }
        guard let p256dh = recipient.p256dh else { return nil }
        do throws(SubscriptionKeyError) {
            _ = try SubscriptionKeys(p256dh: p256dh, auth: recipient.auth ?? "")
            return nil
        } catch {
            // The database checks everything else.
            guard error.reason == .notOnCurve else { return nil }
            let hint = "Pass keys.p256dh exactly as subscription.toJSON() gives it."
            return RecipientError(.p256dh, "is not a point of P-256", hint: hint)
        }
    }

    package var invalidRecipient: Outcome { .goneWebPushInvalidSubscription }

    package var outcomes: OutcomeBlock { .webPush }

    package func senders(
        _ settings: WebPushSettings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders {
        let key = try parts.files.vapidKey(settings, app: app)
        let make = try parts.transports(
            toHosts: settings.allowedHosts,
            networks: settings.allowedNetworks,
            MultiOriginTraits(caFile: settings.caFile, answerHeaders: WebPushAnswer.headers),
            section: "apps.\(app).webpush"
        )
        let tokens = VAPIDTokens(key: key, subject: settings.subject, logger: parts.logger)
        return ProviderSenders([
            ProviderPool(
                environment: "production",
                access: WebPushAccess(tokens: tokens),
                hasManyOrigins: true,
                makeTransport: make
            )
        ])
    }

    package func descriptors(_ costs: DescriptorCosts) -> Int { costs.origins }

    package func credentials(_ settings: WebPushSettings, _ checkup: CredentialCheckup) -> [ProviderCredential] {
        [
            ProviderCredential(name: "VAPID key") { () throws(DaemonError) in
                _ = try checkup.files.vapidKey(settings, app: checkup.app)
                return nil
            }
        ]
    }

    package func checkup(_ settings: WebPushSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        let key = checkup.item("VAPID key") { item throws(DaemonError) in
            let key = try checkup.files.vapidKey(settings, app: checkup.app)
            let detail = "\(settings.vapidKeyFile): EC P-256 key, file permissions OK; browsers subscribe with "
            return CheckItem(.ok, item, detail + "\(key.publicKey), services may write to \(settings.subject)")
        }
        return [key] + checkup.trustItem(title, settings.caFile)
    }
}

extension SubscriptionKeys: RecipientKeys {}

extension PushProvider {
    /// See ``WebPushProvider``.
    package static var webpush: PushProvider { PushProvider(rawValue: WebPushSettings.name) }
}
