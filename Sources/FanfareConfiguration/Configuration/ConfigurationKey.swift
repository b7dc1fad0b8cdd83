/// One key of the configuration: the only place that knows its type, default, bounds and meaning.
struct ConfigurationKey: Sendable {
    /// Stands in a path for a name that the user chooses.
    static let anyName = "*"

    /// Whether the key must be there.
    enum Presence: Sendable {
        case required
        case optional
    }

    /// What a change of the key needs to take effect.
    enum Change: Sendable {
        case reload
        case restart
    }

    let path: [String]
    let type: String
    let range: String?
    let presence: Presence
    let change: Change
    /// The default as one would write it; nil if there is none.
    let standard: String?
    let meaning: String
    /// Reads a value and stores it under the name that stands for `*`.
    let store:
        @Sendable (inout Configuration, _ name: String, ConfigurationText, ConfigurationPlace)
            throws(ConfigurationRefusal) -> Void
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
        store = { (configuration, _, text, place) throws(ConfigurationRefusal) in
            configuration[keyPath: property] = try kind.parse(text, place)
        }
        show = { configuration, _ in kind.text(configuration[keyPath: property]) }
        differs = { left, right, _ in left[keyPath: property] != right[keyPath: property] }
    }

    /// A key of one app's provider, `apps.<name>.<provider>.…`.
    init<Section, Value>(
        _ key: String,
        _ section: ConfigurationSection<Section>,
        _ property: any WritableKeyPath<Section, Value> & Sendable,
        _ kind: ConfigurationValueKind<Value>,
        presence: Presence = .optional,
        _ meaning: String
    ) {
        path = ["apps", Self.anyName, section.name, key]
        (type, range) = (kind.name, kind.range)
        (self.presence, self.meaning) = (presence, meaning)
        change = .reload
        standard = presence == .required ? nil : kind.text(section.empty[keyPath: property])
        store = { (configuration, name, text, place) throws(ConfigurationRefusal) in
            let value = try kind.parse(text, place)
            section.change(in: &configuration.apps[name, default: .init()]) { $0[keyPath: property] = value }
        }
        show = { configuration, name in
            section.read(from: configuration.apps[name]).flatMap { kind.text($0[keyPath: property]) }
        }
        differs = { left, right, name in
            section.read(from: left.apps[name])?[keyPath: property]
                != section.read(from: right.apps[name])?[keyPath: property]
        }
    }

    /// The dotted path, with `<name>` where the user chooses one.
    var name: String { path.map { $0 == Self.anyName ? "<name>" : $0 }.joined(separator: ".") }

    /// The environment variable, with `<NAME>` where the user chooses one.
    var environmentName: String {
        "FANFARE_" + path.map { $0 == Self.anyName ? "<NAME>" : $0.uppercased() }.joined(separator: "__")
    }
}

/// One provider's block in an app.
struct ConfigurationSection<Section: Sendable>: Sendable {
    let name: String
    let property: any WritableKeyPath<Configuration.App, Section?> & Sendable
    /// All defaults.
    let empty: Section

    init(
        _ name: String,
        _ property: any WritableKeyPath<Configuration.App, Section?> & Sendable,
        empty: Section
    ) {
        (self.name, self.property, self.empty) = (name, property, empty)
    }

    func read(from app: Configuration.App?) -> Section? {
        app.flatMap { $0[keyPath: property] }
    }

    /// Changes the block, made first if there is none.
    func change(in app: inout Configuration.App, _ body: (inout Section) -> Void) {
        var section = app[keyPath: property] ?? empty
        body(&section)
        app[keyPath: property] = section
    }
}
