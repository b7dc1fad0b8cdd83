public import FanfareConfiguration
package import FanfareCore

/// The list of providers.
package enum Providers {
    /// All providers, in the order in which they are listed for people.
    package static let all: [any Provider] = [APNsProvider(), FCMProvider(), WebPushProvider(), WebhookProvider()]

    /// The names of all providers.
    package static let names = all.map(\.name)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Returns the provider with a name.
    ///
    /// - Parameter name: the name, as in column `provider`.
    /// - Returns: nil for a provider of a newer version.
    package static func named(_ name: String) -> (any Provider)? { byName[PushProvider(rawValue: name)] }

    /// Returns the names of the providers that an app is configured for.
    ///
    /// - Parameter app: the app's configuration; nil if it has none.
    /// - Returns: the names, as in column `provider`.
    package static func serving(_ app: Configuration.App?) -> Set<String> {
        Set(all.filter { $0.serves(app) }.map(\.name.rawValue))
    }
}

extension ConfigurationSchema {
    /// The schema with the keys of every provider.
    package static let all = ConfigurationSchema(Providers.all.map(\.block))
}

extension Configuration {
    /// Reads a configuration from defaults, file, environment and flags; a later source overrides an earlier one.
    ///
    /// Files named in it (keys, passwords, CAs) are not opened here; the code that uses them reads them, again at each
    /// reload.
    ///
    /// - Parameters:
    ///   - file: path of the YAML file; nil for none.
    ///   - environment: variables of the process: `FANFARE_LOG__LEVEL` for `log.level`, and `DATABASE_URL`.
    ///   - flags: values from the command line by dotted path, such as `log.level`.
    ///   - readsFiles: whether files other than the database's are opened later; if not, their paths may contain unset
    ///     variables.
    /// - Returns: the checked configuration; ``warnings`` has its warnings.
    /// - Throws: all problems at once, each with its place.
    public static func load(
        file: String?,
        environment: [String: String],
        flags: [String: String] = [:],
        readsFiles: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        try load(file: file, environment: environment, flags: flags, schema: .all, readsFiles: readsFiles)
    }

    /// Reads a configuration from a text, for a file that does not exist yet.
    ///
    /// - Parameters:
    ///   - yaml: the text; nil for none.
    ///   - name: the file's name in messages.
    ///   - directory: absolute path that relative paths are resolved against.
    ///   - environment: variables of the process.
    ///   - flags: values from the command line by dotted path.
    /// - Returns: the checked configuration; ``warnings`` has its warnings.
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

    /// The warnings: settings that work but should be changed, each with advice.
    public var warnings: [String] { warnings(.all) }

    /// All keys outside the providers' blocks as a Markdown list, "`key` (type, required/optional, default: x, range):
    /// meaning", for the documentation.
    public static var reference: String { ConfigurationSchema.all.reference }

    /// Returns the keys that a reload changes.
    ///
    /// Files named in the configuration may have new content under the old name; that is not detected here.
    ///
    /// - Parameter old: the configuration in force.
    /// - Returns: one entry per key whose value differs, in the order of the reference; values without secrets.
    public func changes(from old: Configuration) -> [ConfigurationChange] { changes(from: old, .all) }
}
