package import FanfareConfiguration
package import PushTransport

/// An app's FCM credentials.
package struct FCMSettings: ProviderSettings {
    /// Absolute path of the service account's JSON file.
    package var serviceAccountFile = ""
    /// The endpoint for messages; the service account's file names the endpoint for tokens.
    package var endpoint = Endpoint.fcm
    /// Absolute path of a PEM file with CAs to trust; nil for the system's CAs.
    package var caFile: String?

    package static let name = "fcm"

    package init() {}

    package var files: [String] {
        [serviceAccountFile, caFile].compactMap(\.self)
    }
}

extension Configuration.App {
    /// The app's FCM credentials; nil if the app does not use FCM.
    package var fcm: FCMSettings? {
        get { self[FCMSettings.self] }
        set { self[FCMSettings.self] = newValue }
    }
}

extension FCMSettings {
    static let keys: [ConfigurationKey] = [
        .init(
            "service_account_file",
            \FCMSettings.serviceAccountFile,
            .path,
            presence: .required,
            "Key of a service account, the JSON file from the Firebase console, readable only by the daemon's user; it names "
                + "the project."
        ),
        .init(
            "endpoint",
            \FCMSettings.endpoint,
            .endpoint,
            "Where messages are sent; another one for a simulator or a gateway. Access tokens are fetched from the key "
                + "file's `token_uri`."
        ),
        .init(
            "ca_file",
            \FCMSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for messages and tokens, besides the system's."
        ),
    ]
}
