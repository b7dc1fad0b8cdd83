/// What one app's block for a provider holds: which keys there are is the provider's to say.
public protocol ProviderSettings: Equatable, Sendable {
    /// The block's name in the configuration, which is the provider's everywhere.
    static var name: String { get }

    /// All defaults.
    init()

    /// Every file that the block names, there or not: a change of one of them is a change of the credentials.
    var files: [String] { get }
}

extension ProviderSettings {
    /// Whether other settings are of the same provider and say the same.
    fileprivate func isEqual(to other: any ProviderSettings) -> Bool { other as? Self == self }
}

extension Configuration {
    /// The providers of one app, and what its phones may come with.
    public struct App: Equatable, Sendable {
        /// Whose tokens its phones come with.
        public var phones = Phones()
        /// The types of events that its rules may take, or with `*` at the end what they begin with; nil for what is in the database.
        public var events: [String]?
        /// What each provider's block says, by its name; a provider without one is not sent to.
        package private(set) var providers: [String: any ProviderSettings] = [:]

        /// No provider.
        public init() {}

        /// One provider.
        package init(_ settings: some ProviderSettings) {
            providers[type(of: settings).name] = settings
        }

        /// What a provider's block says; nil if there is none.
        ///
        /// - Parameter kind: which provider's settings.
        package subscript<Settings: ProviderSettings>(kind: Settings.Type) -> Settings? {
            get { providers[kind.name] as? Settings }
            set { providers[kind.name] = newValue }
        }

        /// Whether both send to the same providers with the same settings, and take the same tokens.
        public static func == (left: App, right: App) -> Bool {
            left.phones == right.phones && left.events == right.events && left.providers.count == right.providers.count
                && left.providers.allSatisfy { name, settings in
                    right.providers[name].map(settings.isEqual) ?? false
                }
        }
    }
}

/// What the configuration knows of a provider: its keys, and which of them go together.
package struct ConfigurationBlock: Sendable {
    /// Checks what single keys cannot.
    package typealias Check =
        @Sendable (
            _ section: [String], _ origin: ConfigurationOrigin, _ reader: inout ConfigurationReader
        ) -> Void

    /// Its name below `apps.<name>`.
    package let name: String
    /// What people call the provider.
    package let title: String
    /// In the order of the reference.
    package let keys: [ConfigurationKey]
    /// Whether its connections never go through `send.proxy`.
    package let connectsDirectly: Bool
    /// Looks at a block as a whole.
    package let check: Check

    /// Describes a block.
    ///
    /// - Parameters:
    ///   - settings: what is read from it.
    ///   - title: what people call the provider.
    ///   - keys: in the order of the reference.
    ///   - connectsDirectly: whether its connections never go through `send.proxy`.
    ///   - check: looks at a block as a whole, and reports what is wrong.
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
