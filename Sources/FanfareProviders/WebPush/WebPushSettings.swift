package import FanfareConfiguration

/// An app's Web Push credentials and allowed endpoints.
package struct WebPushSettings: ProviderSettings {
    /// Absolute path of the VAPID key, a PEM file.
    package var vapidKeyFile = ""
    /// The contact for push services, a `mailto:` or `https:` URI.
    package var subject = ""
    /// Host names that may be sent to; a leading `*.` stands for any label.
    package var allowedHosts = Self.services
    /// Networks with addresses that are not public and may still be connected to.
    package var allowedNetworks: [String] = []
    /// Absolute path of a PEM file with CAs to trust; nil for the system's CAs.
    package var caFile: String?

    package static let name = "webpush"
    /// The push services of the known browsers (Chromium-based browsers, Firefox, Safari, Edge).
    package static let services = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ]

    package init() {}

    package var files: [String] {
        [vapidKeyFile, caFile].compactMap(\.self)
    }
}

extension Configuration.App {
    /// The app's Web Push settings; nil if the app does not use Web Push.
    package var webPush: WebPushSettings? {
        get { self[WebPushSettings.self] }
        set { self[WebPushSettings.self] = newValue }
    }
}

extension WebPushSettings {
    static let keys: [ConfigurationKey] = [
        .init(
            "vapid_key_file",
            \WebPushSettings.vapidKeyFile,
            .path,
            presence: .required,
            "Private key of the VAPID pair, a PEM file readable only by the daemon's user; `fanfare vapid-keys` makes one."
        ),
        .init(
            "subject",
            \WebPushSettings.subject,
            .contact,
            presence: .required,
            "The contact that push services can ask about these pushes."
        ),
        .init(
            "allowed_hosts",
            \WebPushSettings.allowedHosts,
            .hosts,
            "The push services that Fanfare may send to. The list is needed because browsers choose the service. In the environment: separated by commas."
        ),
        .init(
            "allowed_networks",
            \WebPushSettings.allowedNetworks,
            .networks,
            "The addresses that Fanfare may connect to although they are not public. In the environment: separated by commas."
        ),
        .init(
            "ca_file",
            \WebPushSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for all push services, besides the system's."
        ),
    ]
}
