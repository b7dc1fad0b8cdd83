package import FanfareConfiguration
package import FanfareCore
internal import PushTransport

/// Webhooks: a signed POST to a registered URL (Standard Webhooks 1.0.0).
package struct WebhookProvider: Provider {
    package var block: ConfigurationBlock {
        ConfigurationBlock(
            WebhookSettings.self,
            title: "Webhook",
            keys: WebhookSettings.keys,
            connectsDirectly: true
        )
    }

    package func content(
        _ parts: [MessagePart],
        rule: RuleDefinition
    ) throws(RuleProblem) -> (any ProviderContent)? {
        try WebhookContent.compile(parts)
    }

    package var messageBlock: MessageBlock? { .webhook }

    package var addedHeaders: String { "webhook-id, webhook-timestamp and webhook-signature are" }

    package func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress? {
        guard let url = try? HTTPSURL(recipient.token), !url.origin.isNowhere,
            let secret = recipient.auth.flatMap(WebhookSecret.init)
        else { return nil }
        return .url(url, secret)
    }

    package func fault(of recipient: Recipient) -> RecipientError? {
        recipient.urlError(ofNowhere: "Pass the URL that is to be posted to.")
    }

    package var invalidRecipient: Outcome { .goneWebhookInvalidEndpoint }

    package var outcomes: OutcomeBlock { .webhook }

    package func senders(
        _ settings: WebhookSettings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders {
        let make = try parts.transports(
            toHosts: settings.allowedHosts,
            networks: settings.allowedNetworks,
            MultiOriginTraits(caFile: settings.caFile, answerHeaders: WebhookAccess.answerHeaders),
            section: "apps.\(app).webhook"
        )
        return ProviderSenders([
            ProviderPool(
                environment: "production",
                access: WebhookAccess(),
                hasManyOrigins: true,
                makeTransport: make
            )
        ])
    }

    package func descriptors(_ costs: DescriptorCosts) -> Int { costs.origins }

    package func credentials(_ settings: WebhookSettings, _ checkup: CredentialCheckup) -> [ProviderCredential] { [] }

    package func checkup(_ settings: WebhookSettings, _ checkup: CredentialCheckup) -> [CheckItem] {
        let hosts = settings.allowedHosts.joined(separator: ", ")
        let networks =
            settings.allowedNetworks.isEmpty ? "" : ", and in \(settings.allowedNetworks.joined(separator: ", "))"
        let reach = CheckItem(.ok, "Webhook hosts of \(checkup.app)", "\(hosts): at public addresses\(networks)")
        return [reach] + checkup.trustItem(title, settings.caFile)
    }
}

extension PushProvider {
    /// See ``WebhookProvider``.
    package static var webhook: PushProvider { PushProvider(rawValue: WebhookSettings.name) }
}
