internal import FanfareCore

extension Configuration {
    /// The settings for tokens with which an app's phones call the HTTP API.
    public struct Phones: Equatable, Sendable {
        /// Absolute path of the keys that sign the tokens, a JSON Web Key Set; nil if the app's phones do not call the
        /// API.
        public var keysFile: String?
        /// The required `iss`; nil for any.
        public var issuer: String?
        /// The rate limit of one user in requests a second.
        public var userRate = 5
        /// The rate limit of all users together in requests a second.
        public var rate = 500

        /// Makes the defaults: off.
        public init() {}
    }

    /// The keys of each app outside the providers' blocks.
    static let keysOfApps: [ConfigurationKey] = [
        .init(
            "events",
            \.events,
            ConfigurationValueKind<[String]>.eventTypes.optional,
            "The event types that rules of the app may use. When a daemon starts or reloads, it stores this list "
                + "for all daemons. A daemon without the key leaves the stored list as it is. Until a daemon has "
                + "stored a list, every type is allowed. `[\"*\"]` allows every type again."
        ),
        .init(
            "jwt.jwks_file",
            \.phones.keysFile,
            ConfigurationValueKind<String>.path.optional,
            presence: .required,
            "JSON Web Key Set (HS256, ES256, Ed25519) for the tokens that your backend signs for phones; read again "
                + "when it changes. If it contains a secret, only the daemon's user may have permission to read it."
        ),
        .init(
            "jwt.issuer",
            \.phones.issuer,
            claim.optional,
            "Required `iss` of a token."
        ),
        .init(
            "jwt.user_rate",
            \.phones.userRate,
            .integer(1...1000),
            "Requests per second from the phones of one user. A burst may have the same number of requests, or 20, "
                + "whichever is larger. Further requests get 429."
        ),
        .init(
            "jwt.rate",
            \.phones.rate,
            .integer(1...1_000_000),
            "Requests per second from all phones of the app. A burst may have the same number of requests."
        ),
    ]

    private static let claim = ConfigurationValueKind<String>.text(
        "1 to 200 printable ASCII characters",
        length: 1...200
    ) { $0.isASCII && ("!"..."~").contains($0) }
}

extension ConfigurationValueKind<[String]> {
    /// Event types, or prefixes of several.
    fileprivate static var eventTypes: Self {
        let description = "an event type such as order.paid, or shop.* for all that begin with shop., or * for all"
        let names = names(description, bytes: 1...RuleNames.eventTypeLimit)
        return .init(
            name: names.name,
            range: names.range,
            parse: { (raw, place) throws(ConfigurationValueError) in
                let types = try names.parse(raw, place)
                if let index = types.firstIndex(where: { !RuleNames.isEventPattern($0) }) {
                    let found = "found “\(types[index].prefix(80))”"
                    throw ConfigurationValueError("expected \(description), \(found)", element: index)
                }
                return types
            },
            text: names.text
        )
    }
}
