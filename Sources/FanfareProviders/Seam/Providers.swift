public import FanfareConfiguration
package import FanfareCore

/// The providers there are.
package enum Providers {
    /// In the order in which people are told of them.
    package static let all: [any Provider] = [APNsProvider(), FCMProvider(), WebPushProvider(), WebhookProvider()]

    /// Their names.
    package static let names = all.map(\.name)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The provider of a name.
    ///
    /// - Parameter name: as in column `provider`.
    /// - Returns: nil for one that only a newer version knows.
    package static func named(_ name: String) -> (any Provider)? { byName[PushProvider(rawValue: name)] }

    /// The names of those that an app is configured for.
    ///
    /// - Parameter app: its configuration; nil for one that the configuration lacks.
    /// - Returns: as in column `provider`.
    package static func serving(_ app: Configuration.App?) -> Set<String> {
        Set(all.filter { $0.serves(app) }.map(\.name.rawValue))
    }
}

extension ConfigurationSchema {
    /// All keys, with those of every provider.
    package static let all = ConfigurationSchema(Providers.all.map(\.block))
}

extension Configuration {
    /// Reads a configuration: defaults, then the file, then the environment, then flags; the later wins.
    ///
    /// Files named in it (keys, passwords, CAs) are not looked at; whoever uses them does that, again at each reload.
    ///
    /// - Parameters:
    ///   - file: path of the YAML file; nil for none.
    ///   - environment: variables of the process: `FANFARE_LOG__LEVEL` for `log.level`, and `DATABASE_URL`.
    ///   - flags: values from the command line by dotted path, such as `log.level`.
    ///   - readsFiles: whether files other than the database's are opened later; if not, their paths may have variables that are not set.
    /// - Returns: the checked configuration; see ``warnings`` too.
    /// - Throws: all problems at once, each with its place.
    public static func load(
        file: String?,
        environment: [String: String],
        flags: [String: String] = [:],
        readsFiles: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        try load(file: file, environment: environment, flags: flags, schema: .all, readsFiles: readsFiles)
    }

    /// Reads a configuration from a text; for files that are not there yet.
    ///
    /// - Parameters:
    ///   - yaml: the text; nil for none.
    ///   - name: what messages call it.
    ///   - directory: absolute path that relative paths start from.
    ///   - environment: variables of the process.
    ///   - flags: values from the command line by dotted path.
    /// - Returns: the checked configuration; see ``warnings`` too.
    /// - Throws: all problems at once, each with its place.
    public static func parse(
        _ yaml: String?,
        named name: String,
        directory: String,
        environment: [String: String] = [:],
        flags: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        try parse(yaml, named: name, directory: directory, environment: environment, flags: flags, schema: .all)
    }

    /// What works but should be mended; each says how.
    public var warnings: [String] { warnings(.all) }

    /// All keys but the providers' as a Markdown list, "`key` (type, required/optional, default: x, range): meaning", for the
    /// documentation.
    public static var reference: String { ConfigurationSchema.all.reference }

    /// What a reload changes.
    ///
    /// Files that are named in the configuration may have new content under the old name; that is not seen here.
    ///
    /// - Parameter old: the configuration in force.
    /// - Returns: one entry per key whose value differs, in the order of the reference; values without secrets.
    public func changes(from old: Configuration) -> [ConfigurationChange] { changes(from: old, .all) }
}
