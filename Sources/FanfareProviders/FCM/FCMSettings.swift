package import FanfareConfiguration
package import PushTransport

/// An app's FCM credentials.
package struct FCMSettings: ProviderSettings {
    /// Absolute path of the service account's JSON file.
    package var serviceAccountFile = ""
    /// The endpoint for messages and topics; the service account's file names the endpoint for tokens.
    package var endpoint = Endpoint.fcm
    /// Absolute path of a PEM file with CAs to trust; nil for the system's CAs.
    package var caFile: String?
    /// Whether messages have the block `android_v2` in place of `android`.
    package var usesAndroidV2 = false

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
            "JSON file from the Firebase console with the key of a service account. Only the daemon's user may have "
                + "permission to read it. The file also names the project."
        ),
        .init(
            "endpoint",
            \FCMSettings.endpoint,
            .endpoint,
            "The address to which messages and changes of topics are sent. Set another address for a simulator or a "
                + "gateway. Access tokens are fetched from the key file's `token_uri`."
        ),
        .init(
            "ca_file",
            \FCMSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for messages and access tokens, in addition to the system's CAs."
        ),
        .init(
            "android_v2",
            \FCMSettings.usesAndroidV2,
            .flag,
            "Whether the app's messages have the block `android_v2` in place of `android`: a preview of FCM's. Messages "
                + "that have `android_v2` are sent as they are in any case."
        ),
    ]
}
