package import FanfareConfiguration

/// An app's allowed webhook endpoints.
///
/// There is no credential: each device has its own secret for signing.
package struct WebhookSettings: ProviderSettings {
    /// Host names that may be posted to; a leading `*.` stands for any label, `*` for every name.
    package var allowedHosts: [String] = []
    /// Networks with addresses that are not public and may still be connected to.
    package var allowedNetworks: [String] = []
    /// Absolute path of a PEM file with CAs to trust; nil for the system's CAs.
    package var caFile: String?

    package static let name = "webhook"

    package init() {}

    package var files: [String] { [caFile].compactMap(\.self) }
}

extension Configuration.App {
    /// The app's webhook settings; nil if the app does not use webhooks.
    package var webhook: WebhookSettings? {
        get { self[WebhookSettings.self] }
        set { self[WebhookSettings.self] = newValue }
    }
}

extension WebhookSettings {
    static let keys: [ConfigurationKey] = [
        .init(
            "allowed_hosts",
            \WebhookSettings.allowedHosts,
            .hosts,
            presence: .required,
            """
            The hosts that Fanfare may post to. Each registration of a webhook names a host, and this list limits the \
            choice. `*` allows every host whose address is public. In an environment variable, separate the entries \
            with commas.
            """
        ),
        .init(
            "allowed_networks",
            \WebhookSettings.allowedNetworks,
            .networks,
            "The addresses that Fanfare may connect to although they are not public. In an environment variable, separate the entries with commas."
        ),
        .init(
            "ca_file",
            \WebhookSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for all webhooks, in addition to the system's CAs."
        ),
    ]
}
