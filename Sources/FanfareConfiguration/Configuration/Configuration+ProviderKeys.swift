internal import PushTransport

/// The keys of an app's providers.
///
/// Which of them go together is for ``AppCredentials`` to say.
extension Configuration {
    private static let appleID = ConfigurationValueKind<String>.text(
        "10 capital letters and digits",
        length: 10...10
    ) { $0.isASCII && ($0.isUppercase || $0.isNumber) }

    private static let bundleID = ConfigurationValueKind<String>.text(
        "a bundle id of letters, digits, dots and dashes",
        length: 1...255
    ) { $0.isASCII && ($0.isLetter || $0.isNumber || ".-".contains($0)) }

    private static let inAPNS = ConfigurationSection("apns", \.apns, empty: APNS())
    private static let inFCM = ConfigurationSection("fcm", \.fcm, empty: FCM())
    private static let inWebPush = ConfigurationSection("webpush", \.webPush, empty: WebPush())

    static let apns: [ConfigurationKey] = [
        .init(
            "team_id",
            inAPNS,
            \.teamID,
            appleID,
            "Team id of the Apple developer account. Needed with `key_file`."
        ),
        .init(
            "key_id",
            inAPNS,
            \.keyID,
            appleID,
            "Id of the signing key. Needed with `key_file`."
        ),
        .init(
            "key_file",
            inAPNS,
            \.keyFile,
            .path,
            "The signing key, a `.p8` file that nobody else may read. Either this or `certificate_file`."
        ),
        .init(
            "certificate_file",
            inAPNS,
            \.certificateFile,
            file.optional,
            "Certificate with its private key, a `.p12` or `.pem` file that nobody else may read, instead of a "
                + "signing key."
        ),
        .init(
            "certificate_password_file",
            inAPNS,
            \.certificatePasswordFile,
            file.optional,
            "File that holds the certificate file's password and nothing else."
        ),
        .init(
            "topic",
            inAPNS,
            \.topic,
            bundleID,
            presence: .required,
            "Bundle id of the app; suffixes such as `.voip` are added by push type."
        ),
        .init(
            "endpoint",
            inAPNS,
            \.endpoint,
            .endpoint,
            "Where devices of environment `production` are reached; another one for a simulator or a gateway."
        ),
        .init(
            "sandbox_endpoint",
            inAPNS,
            \.sandboxEndpoint,
            .endpoint,
            "Where devices of environment `sandbox` are reached."
        ),
        .init(
            "ca_file",
            inAPNS,
            \.caFile,
            file.optional,
            "PEM file with CAs to trust for both endpoints, besides the system's."
        ),
    ]

    static let fcm: [ConfigurationKey] = [
        .init(
            "service_account_file",
            inFCM,
            \.serviceAccountFile,
            .path,
            presence: .required,
            "Key of a service account, the JSON file from the Firebase console, which nobody else may read; it names "
                + "the project."
        ),
        .init(
            "endpoint",
            inFCM,
            \.endpoint,
            .endpoint,
            "Where messages are sent; another one for a simulator or a gateway. Tokens are fetched where the service "
                + "account says."
        ),
        .init(
            "ca_file",
            inFCM,
            \.caFile,
            file.optional,
            "PEM file with CAs to trust for messages and tokens, besides the system's."
        ),
    ]

    static let webPush: [ConfigurationKey] = [
        .init(
            "vapid_key_file",
            inWebPush,
            \.vapidKeyFile,
            .path,
            presence: .required,
            "Private key of the VAPID pair, a PEM file that nobody else may read; `fanfare vapid-keys` makes one."
        ),
        .init(
            "subject",
            inWebPush,
            \.subject,
            .contact,
            presence: .required,
            "Whom push services may write to about these pushes."
        ),
        .init(
            "allowed_hosts",
            inWebPush,
            \.allowedHosts,
            .hosts,
            "Which push services may be sent to, since browsers name them. In the environment: separated by commas."
        ),
        .init(
            "allowed_networks",
            inWebPush,
            \.allowedNetworks,
            .networks,
            "Which addresses may be connected to although they are not public. In the environment: separated by commas."
        ),
        .init(
            "ca_file",
            inWebPush,
            \.caFile,
            file.optional,
            "PEM file with CAs to trust for all push services, besides the system's."
        ),
    ]
}
