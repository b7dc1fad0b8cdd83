public import FanfareCore
public import PushTransport

extension Configuration {
    /// One feedback hook: the outcomes and reports that it receives, and how.
    public struct Feedback: Equatable, Sendable {
        /// The URL that outcomes are posted to; nil for a hook that notifies.
        public var url: HTTPSURL?
        /// Absolute path of the file with the secrets that sign requests.
        public var secretFile: String?
        /// The NOTIFY channel; nil for a hook that posts.
        public var channel: String?
        /// The outcomes that the hook receives.
        public var outcomes = [OutcomeKind.gone]
        /// What devices report that the hook receives.
        public var reports: [Report] = []
        /// The app whose outcomes it receives; nil for all apps.
        public var app: String?
        /// Networks with addresses that are not public and may still be connected to.
        public var allowedNetworks: [String] = []
        /// Absolute path of a PEM file with CAs to trust; nil for the system's.
        public var caFile: String?

        /// A kind of reports that a hook can receive.
        public enum Report: String, CaseIterable, Sendable {
            /// The user opened the push.
            case opened
            /// The user chose an action of the push.
            case action
        }

        /// Makes a hook with all defaults.
        public init() {}

        /// The outcomes that a hook can receive: the final ones.
        public static let tellable = OutcomeKind.allCases.filter { ![.pending, .attempted, .retrying].contains($0) }
    }
}

extension Configuration.Feedback {
    static let keys: [ConfigurationKey] = [
        .init(
            ofFeedback: "url",
            \.url,
            ConfigurationValueKind<HTTPSURL>.httpsURL.optional,
            "The URL that outcomes of pushes are posted to. Requests are signed as defined by Standard Webhooks; see "
                + "Feedback."
        ),
        .init(
            ofFeedback: "secret_file",
            \.secretFile,
            ConfigurationValueKind<String>.path.optional,
            "File with the signing secret of `url`: `whsec_` and 24 to 64 bytes in base64. If it has two secrets, "
                + "one per line, requests carry both signatures, so that receivers can change from one secret to the "
                + "other."
        ),
        .init(
            ofFeedback: "channel",
            \.channel,
            ConfigurationValueKind<String>.channel.optional,
            "Instead of `url`: the NOTIFY channel on which outcomes are sent, such as `fanfare_feedback`."
        ),
        .init(
            ofFeedback: "outcomes",
            \.outcomes,
            .outcomes,
            "Which outcomes are sent. `gone` reports tokens whose devices are disabled; `accepted` reports every "
                + "successful push. With an empty list, only `reports` are sent. In an environment variable, separate the "
                + "entries with commas."
        ),
        .init(
            ofFeedback: "reports",
            \.reports,
            .reports,
            "Which reports of devices are sent, each once: that the user opened a push, or chose an action. In an "
                + "environment variable, separate the entries with commas."
        ),
        .init(
            ofFeedback: "app",
            \.app,
            ConfigurationValueKind<String>.text("an app's name", length: 1...64) {
                $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0))
            }.optional,
            "Send only outcomes of this app's pushes. By default, those of all apps are sent."
        ),
        .init(
            ofFeedback: "allowed_networks",
            \.allowedNetworks,
            .networks,
            "Networks that are not public, but that the URL's host may be in. In the environment: separated by "
                + "commas."
        ),
        .init(
            ofFeedback: "ca_file",
            \.caFile,
            ConfigurationValueKind<String>.path.optional,
            "PEM file with CAs to trust in addition to the system's."
        ),
    ]

    /// Reports keys that exclude or require each other.
    static func check(_ section: [String], _ origin: ConfigurationOrigin, _ reader: inout ConfigurationReader) {
        func setting(_ key: String) -> ConfigurationReader.Setting? { reader.settings[section + [key]] }
        func report(_ key: String, _ reason: String) {
            reader.report(setting(key)?.origin ?? origin, (section + [key]).joined(separator: "."), reason)
        }
        func count(_ key: String, byDefault count: Int) -> Int {
            setting(key).flatMap { try? $0.text.list(expected: "") }?.count ?? count
        }
        if count("outcomes", byDefault: 1) + count("reports", byDefault: 0) == 0 {
            report("outcomes", "has no entry, and `reports` has none, so the hook would send nothing")
        }
        switch (setting("url"), setting("channel")) {
        case (nil, nil): report("url", "is required, or `channel` instead")
        case (.some, .some): report("channel", "is one thing and `url` another; make two hooks for both")
        case (.some, nil):
            if setting("secret_file") == nil { report("secret_file", "is required beside `url`, which it signs for") }
        case (nil, .some):
            for key in ["secret_file", "allowed_networks", "ca_file"] where setting(key) != nil {
                report(key, "is for a `url`; nothing is posted to a channel")
            }
        }
    }
}

extension ConfigurationValueKind<HTTPSURL> {
    /// An https URL; messages do not show what comes after the host, because it may be secret.
    static var httpsURL: Self {
        let expected = "expected https://HOST[:PORT]/PATH"
        return .init(
            name: "URL",
            range: "https://HOST[:PORT]/PATH",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected).withoutVariables()
                guard let url = try? HTTPSURL(text) else { throw ConfigurationValueError(expected) }
                return url
            },
            text: { $0.description }
        )
    }
}

extension ConfigurationValueKind<String> {
    /// A NOTIFY channel.
    static var channel: Self {
        let expected = "expected a NOTIFY channel of 1 to 63 letters, digits and underscores"
        return .init(
            name: "string",
            range: "1 to 63 letters, digits and underscores",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected)
                guard text.wholeMatch(of: /[a-zA-Z_][a-zA-Z0-9_]{0,62}/) != nil else {
                    throw ConfigurationValueError("\(expected), found “\(text.prefix(80))”")
                }
                return text
            },
            text: { $0 }
        )
    }
}

extension ConfigurationValueKind<[OutcomeKind]> {
    /// Outcomes that a hook can receive.
    static var outcomes: Self {
        list(of: Configuration.Feedback.tellable, named: "an outcome")
    }
}

extension ConfigurationValueKind<[Configuration.Feedback.Report]> {
    /// Reports of devices that a hook can receive.
    static var reports: Self {
        list(of: Configuration.Feedback.Report.allCases, named: "a report")
    }
}

extension ConfigurationValueKind {
    /// A list of words, each once.
    private static func list<Word: RawRepresentable & Equatable & Sendable>(
        of known: [Word],
        named noun: String
    ) -> Self where Value == [Word], Word.RawValue == String {
        let words = known.map(\.rawValue)
        return .init(
            name: "list of strings",
            range: words.joined(separator: " | "),
            parse: { (raw, _) throws(ConfigurationValueError) in
                let texts = try raw.list(expected: "expected a list of \(words.joined(separator: ", "))")
                var found: [Word] = []
                for (index, text) in texts.enumerated() {
                    guard let word = Word(rawValue: text), known.contains(word) else {
                        let near =
                            NearestName.suggestion(for: text, among: words).map { "; did you mean “\($0)”?" }
                            ?? "; known are \(words.joined(separator: ", "))"
                        throw ConfigurationValueError(
                            "“\(text.prefix(40))” is not \(noun) that can be told\(near)",
                            element: index
                        )
                    }
                    guard !found.contains(word) else {
                        throw ConfigurationValueError("“\(text)” is listed twice", element: index)
                    }
                    found.append(word)
                }
                return found
            },
            text: { "[\($0.map(\.rawValue).joined(separator: ", "))]" }
        )
    }
}
