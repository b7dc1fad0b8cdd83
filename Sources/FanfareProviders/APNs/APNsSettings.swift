package import FanfareConfiguration
package import PushTransport

/// An app's APNs credentials and the endpoints of both environments.
///
/// Either a signing key (`teamID`, `keyID`, `keyFile`) or a certificate.
package struct APNsSettings: ProviderSettings {
    /// Team id, the `iss` claim; empty with a certificate.
    package var teamID = ""
    /// Key id, the `kid` header; empty with a certificate.
    package var keyID = ""
    /// Absolute path of the `.p8` file; empty with a certificate.
    package var keyFile = ""
    /// Absolute path of a `.p12` or `.pem` file with certificate and key; nil with a signing key.
    package var certificateFile: String?
    /// Absolute path of a file with the certificate file's password; nil if it has none.
    package var certificatePasswordFile: String?
    /// Bundle id, the `apns-topic` without a push type's suffix.
    package var topic = ""
    /// The endpoint for devices of the production environment.
    package var endpoint = Endpoint.apnsProduction
    /// The endpoint for devices of the sandbox environment.
    package var sandboxEndpoint = Endpoint.apnsSandbox
    /// Absolute path of a PEM file with CAs to trust; nil for the system's CAs.
    package var caFile: String?

    package static let name = "apns"

    package init() {}

    package var files: [String] {
        [keyFile, certificateFile, certificatePasswordFile, caFile].compactMap(\.self).filter { !$0.isEmpty }
    }
}

extension Configuration.App {
    /// The app's APNs credentials; nil if the app does not use APNs.
    package var apns: APNsSettings? {
        get { self[APNsSettings.self] }
        set { self[APNsSettings.self] = newValue }
    }
}

/// ``APNsCredentialsCheck`` checks which keys belong together.
extension APNsSettings {
    private static let appleID = ConfigurationValueKind<String>.text(
        "10 capital letters and digits",
        length: 10...10
    ) { $0.isASCII && ($0.isUppercase || $0.isNumber) }

    private static let bundleID = ConfigurationValueKind<String>.text(
        "a bundle id of letters, digits, dots and dashes",
        length: 1...255
    ) { $0.isASCII && ($0.isLetter || $0.isNumber || ".-".contains($0)) }

    static let keys: [ConfigurationKey] = [
        .init(
            "team_id",
            \APNsSettings.teamID,
            appleID,
            "Team id of the Apple developer account. Needed with `key_file`."
        ),
        .init(
            "key_id",
            \APNsSettings.keyID,
            appleID,
            "Id of the signing key. Needed with `key_file`."
        ),
        .init(
            "key_file",
            \APNsSettings.keyFile,
            .path,
            "The signing key: a `.p8` file that only the daemon's user can read. Set either this or `certificate_file`."
        ),
        .init(
            "certificate_file",
            \APNsSettings.certificateFile,
            ConfigurationValueKind<String>.path.optional,
            "Certificate with its private key, a `.p12` or `.pem` file readable only by the daemon's user, instead of a "
                + "signing key."
        ),
        .init(
            "certificate_password_file",
            \APNsSettings.certificatePasswordFile,
            ConfigurationValueKind<String>.path.optional,
            "File that holds the certificate file's password and nothing else."
        ),
        .init(
            "topic",
            \APNsSettings.topic,
            bundleID,
            presence: .required,
            "Bundle id of the app. Fanfare adds the suffix that a push type needs, such as `.voip`."
        ),
        .init(
            "endpoint",
            \APNsSettings.endpoint,
            .endpoint,
            "The URL of APNs for devices of environment `production`. Set another URL to use a simulator or a gateway."
        ),
        .init(
            "sandbox_endpoint",
            \APNsSettings.sandboxEndpoint,
            .endpoint,
            "The URL of APNs for devices of environment `sandbox`."
        ),
        .init(
            "ca_file",
            \APNsSettings.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust for both endpoints, in addition to the system's CAs."
        ),
    ]
}
