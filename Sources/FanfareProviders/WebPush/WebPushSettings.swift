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
            "Private key of the VAPID pair: a PEM file that only the daemon's user can read. `fanfare vapid-keys` makes a pair."
        ),
        .init(
            "subject",
            \WebPushSettings.subject,
            .contact,
            presence: .required,
            "The contact for push services that have questions about these pushes."
        ),
        .init(
            "allowed_hosts",
            \WebPushSettings.allowedHosts,
            .hosts,
            "The push services that Fanfare may send to. The list is needed because browsers choose the service. In an environment variable, separate the entries with commas."
        ),
        .init(
            "allowed_networks",
            \WebPushSettings.allowedNetworks,
            .networks,
            "The addresses that Fanfare may connect to although they are not public. In an environment variable, separate the entries with commas."
        ),
        .init(
            "ca_file",
            \WebPushSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for all push services, in addition to the system's CAs."
        ),
    ]
}
