/// The settings of one app's block for a provider; each provider defines its keys.
public protocol ProviderSettings: Equatable, Sendable {
    /// The block's name in the configuration, which is the provider's name everywhere.
    static var name: String { get }

    /// Makes the defaults.
    init()

    /// Every file that the block names, whether or not it exists; a changed file means changed credentials.
    var files: [String] { get }
}

extension ProviderSettings {
    /// Whether other settings belong to the same provider and are equal.
    fileprivate func isEqual(to other: any ProviderSettings) -> Bool { other as? Self == self }
}

extension Configuration {
    /// The providers of one app, and the tokens of its phones.
    public struct App: Equatable, Sendable {
        /// The settings for tokens of the app's phones.
        public var phones = Phones()
        /// The event types that the app's rules may match, or prefixes with `*` at the end; nil for the list in the
        /// database.
        public var events: [String]?
        /// The settings of each provider by its name; a provider without settings is not sent to.
        package private(set) var providers: [String: any ProviderSettings] = [:]

        /// Makes an app without a provider.
        public init() {}

        /// Makes an app with one provider.
        package init(_ settings: some ProviderSettings) {
            providers[type(of: settings).name] = settings
        }

        /// The settings of a provider; nil if there are none.
        ///
        /// - Parameter kind: the type of the provider's settings.
        package subscript<Settings: ProviderSettings>(kind: Settings.Type) -> Settings? {
            get { providers[kind.name] as? Settings }
            set { providers[kind.name] = newValue }
        }

        /// Whether two apps have the same providers with the same settings, and accept the same tokens.
        public static func == (left: App, right: App) -> Bool {
            left.phones == right.phones && left.events == right.events && left.providers.count == right.providers.count
                && left.providers.allSatisfy { name, settings in
                    right.providers[name].map(settings.isEqual) ?? false
                }
        }
    }
}

/// The configuration of a provider: its keys, and the check of their combination.
package struct ConfigurationBlock: Sendable {
    /// A check across keys.
    package typealias Check =
        @Sendable (
            _ section: [String], _ origin: ConfigurationOrigin, _ reader: inout ConfigurationReader
        ) -> Void

    /// Its name below `apps.<name>`.
    package let name: String
    /// The provider's name for people.
    package let title: String
    /// The keys, in the order of the reference.
    package let keys: [ConfigurationKey]
    /// Whether its connections never go through `send.proxy`.
    package let connectsDirectly: Bool
    /// Checks a block as a whole.
    package let check: Check

    /// Describes a block.
    ///
    /// - Parameters:
    ///   - settings: the type that stores the block.
    ///   - title: the provider's name for people.
    ///   - keys: the keys, in the order of the reference.
    ///   - connectsDirectly: whether its connections never go through `send.proxy`.
    ///   - check: checks a block as a whole, and reports problems.
    package init<Settings: ProviderSettings>(
        _ settings: Settings.Type,
        title: String,
        keys: [ConfigurationKey],
        connectsDirectly: Bool = false,
        check: @escaping Check = { _, _, _ in }
    ) {
        name = settings.name
        (self.title, self.keys, self.connectsDirectly, self.check) = (title, keys, connectsDirectly, check)
    }
}
