/// One key of the configuration: the only definition of its type, default, bounds and meaning.
package struct ConfigurationKey: Sendable {
    /// The placeholder in a path for a name that the user chooses.
    static let anyName = "*"

    /// Whether the key is required.
    package enum Presence: Sendable {
        case required
        case optional
    }

    /// What is needed for a change of the key to take effect.
    package enum Change: Sendable {
        case reload
        case restart
    }

    let path: [String]
    let type: String
    let range: String?
    let presence: Presence
    let change: Change
    /// The default in the form of the file; nil if there is none.
    let standard: String?
    let meaning: String
    /// Parses a value and stores it, under the name that replaces `*`.
    let store:
        @Sendable (inout Configuration, _ name: String, ConfigurationText, ConfigurationPlace)
            throws(ConfigurationValueError) -> Void
    /// The value as text without secrets; nil if there is none.
    let show: @Sendable (Configuration, _ name: String) -> String?
    /// Whether two configurations differ in this key.
    let differs: @Sendable (Configuration, Configuration, _ name: String) -> Bool

    /// A key of the whole installation.
    init<Value>(
        _ path: String,
        _ property: any WritableKeyPath<Configuration, Value> & Sendable,
        _ kind: ConfigurationValueKind<Value>,
        presence: Presence = .optional,
        change: Change,
        _ meaning: String
    ) {
        self.path = path.split(separator: ".").map(String.init)
        (type, range) = (kind.name, kind.range)
        (self.presence, self.change, self.meaning) = (presence, change, meaning)
        standard = presence == .required ? nil : kind.text(Configuration()[keyPath: property])
        store = { (configuration, _, text, place) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try kind.parse(text, place)
        }
        show = { configuration, _ in kind.text(configuration[keyPath: property]) }
        differs = { left, right, _ in left[keyPath: property] != right[keyPath: property] }
    }

    /// A key of one app's provider, `apps.<name>.<provider>.…`.
    ///
    /// - Parameters:
    ///   - key: the key's name in the provider's block.
    ///   - property: the property that stores the value and supplies the default.
    ///   - kind: the kind of value.
    ///   - presence: whether the key is required.
    ///   - meaning: the text of the reference.
    package init<Settings: ProviderSettings, Value>(
        _ key: String,
        _ property: any WritableKeyPath<Settings, Value> & Sendable,
        _ kind: ConfigurationValueKind<Value>,
        presence: Presence = .optional,
        _ meaning: String
    ) {
        path = ["apps", Self.anyName, Settings.name, key]
        (type, range) = (kind.name, kind.range)
        (self.presence, self.meaning) = (presence, meaning)
        change = .reload
        standard = presence == .required ? nil : kind.text(Settings()[keyPath: property])
        store = { (configuration, name, text, place) throws(ConfigurationValueError) in
            let value = try kind.parse(text, place)
            var settings = configuration.apps[name]?[Settings.self] ?? Settings()
            settings[keyPath: property] = value
            configuration.apps[name, default: .init()][Settings.self] = settings
        }
        show = { configuration, name in
            configuration.apps[name]?[Settings.self].flatMap { kind.text($0[keyPath: property]) }
        }
        differs = { left, right, name in
            left.apps[name]?[Settings.self]?[keyPath: property] != right.apps[name]?[Settings.self]?[keyPath: property]
        }
    }

    /// A key of one app outside the providers' blocks, `apps.<name>.…`.
    ///
    /// - Parameters:
    ///   - path: the dotted path below the app's name.
    ///   - property: the property that stores the value and supplies the default.
    ///   - kind: the kind of value.
    ///   - presence: whether the key is required if its section exists.
    ///   - meaning: the text of the reference.
    init<Value>(
        _ path: String,
        _ property: any WritableKeyPath<Configuration.App, Value> & Sendable,
        _ kind: ConfigurationValueKind<Value>,
        presence: Presence = .optional,
        _ meaning: String
    ) {
        self.path = ["apps", Self.anyName] + path.split(separator: ".").map(String.init)
        (type, range) = (kind.name, kind.range)
        (self.presence, self.meaning) = (presence, meaning)
        change = .reload
        standard = presence == .required ? nil : kind.text(Configuration.App()[keyPath: property])
        store = { (configuration, name, text, place) throws(ConfigurationValueError) in
            configuration.apps[name, default: .init()][keyPath: property] = try kind.parse(text, place)
        }
        show = { configuration, name in configuration.apps[name].flatMap { kind.text($0[keyPath: property]) } }
        differs = { left, right, name in
            left.apps[name]?[keyPath: property] != right.apps[name]?[keyPath: property]
        }
    }

    /// A key of one hook, `feedback.<name>.…`.
    init<Value>(
        ofFeedback key: String,
        _ property: any WritableKeyPath<Configuration.Feedback, Value> & Sendable,
        _ kind: ConfigurationValueKind<Value>,
        _ meaning: String
    ) {
        path = ["feedback", Self.anyName, key]
        (type, range) = (kind.name, kind.range)
        (presence, change, self.meaning) = (.optional, .reload, meaning)
        standard = kind.text(Configuration.Feedback()[keyPath: property])
        store = { (configuration, name, text, place) throws(ConfigurationValueError) in
            configuration.feedback[name, default: .init()][keyPath: property] = try kind.parse(text, place)
        }
        show = { configuration, name in configuration.feedback[name].flatMap { kind.text($0[keyPath: property]) } }
        differs = { left, right, name in
            left.feedback[name]?[keyPath: property] != right.feedback[name]?[keyPath: property]
        }
    }

    /// The dotted path, with `<name>` for a name that the user chooses.
    var name: String { path.map { $0 == Self.anyName ? "<name>" : $0 }.joined(separator: ".") }

    /// The environment variable, with `<NAME>` for a name that the user chooses.
    var environmentName: String {
        "FANFARE_" + path.map { $0 == Self.anyName ? "<NAME>" : $0.uppercased() }.joined(separator: "__")
    }
}
