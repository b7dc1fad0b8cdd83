internal import FanfareCore
internal import HTTP2Client
internal import PostgresClient
internal import PushTransport

/// Looks over everything that a daemon needs, without changing anything.
public struct Checkup: Sendable {
    private let configuration: Configuration
    private let environment: [String: String]

    /// Takes what is to be looked over.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process.
    public init(_ configuration: Configuration, environment: [String: String]) {
        self.configuration = configuration
        self.environment = environment
    }

    /// The item for a configuration that cannot be read.
    ///
    /// - Parameter error: what is wrong with it.
    /// - Returns: the only item there is then.
    public static func unreadable(_ error: ConfigurationError) -> CheckItem {
        CheckItem(.fail, "configuration", error.description, advice: "README lists every key.")
    }

    /// Looks at configuration, key files and database.
    ///
    /// Blocks; takes a few seconds at most, with `online` up to 20 more for each provider.
    ///
    /// - Parameter online: whether each provider is asked too, by one request that no device can get.
    /// - Returns: the items, in the order in which they depend on each other.
    public func items(online: Bool) -> [CheckItem] {
        configurationItems + keyItems + databaseItems + (online ? onlineItems : [])
    }

    private var configurationItems: [CheckItem] {
        var items = [CheckItem(.ok, "configuration", "\(configuration.apps.count) apps")]
        items += configuration.warnings.map { CheckItem(.warn, "configuration", $0) }
        if configuration.installation == nil {
            items.append(
                CheckItem(
                    .warn,
                    "installation",
                    "no name is set: a physical copy of this database could push to real users",
                    advice: "Set `installation:`, then run `fanfare adopt`; give a staging copy another name."
                )
            )
        }
        if configuration.apps.isEmpty {
            let advice = "Add one below `apps:`."
            items.append(CheckItem(.warn, "apps", "no app has credentials: nothing can be sent", advice: advice))
        }
        return items
    }

    private var sortedApps: [(name: String, apns: Configuration.APNS)] {
        configuration.apps.sorted { $0.key < $1.key }.compactMap { name, app in app.apns.map { (name, $0) } }
    }

    private var keyItems: [CheckItem] {
        sortedApps.flatMap { name, apns in
            [keyItem(name, apns), trustItem(name, apns)].compactMap { $0 }
        }
    }

    private func keyItem(_ app: String, _ apns: Configuration.APNS) -> CheckItem {
        do throws(DaemonError) {
            _ = try CredentialFiles(environment: environment).signingKey(apns, app: app)
            return CheckItem(.ok, "key of \(app)", "\(apns.keyFile) is an EC P-256 key, and guarded")
        } catch {
            return CheckItem(.fail, "key of \(app)", error.reason, advice: error.hint)
        }
    }

    /// Looks at a CA file of one's own.
    private func trustItem(_ app: String, _ apns: Configuration.APNS) -> CheckItem? {
        guard let file = apns.caFile else { return nil }
        var options = TransportOptions()
        options.caFile = file
        do throws(TransportError) {
            _ = try HTTP2Client(endpoint: apns.endpoint, options: options)
            return CheckItem(.ok, "CA file of \(app)", file)
        } catch {
            return CheckItem(.fail, "CA file of \(app)", "\(error)")
        }
    }

    private var databaseItems: [CheckItem] {
        do throws(ToolError) {
            let database = try ToolDatabase(configuration, environment: environment)
            return try database.run { connection throws(PostgresError) in
                try DatabaseCheckup(connection: connection, configuration: configuration).items()
            }
        } catch {
            return [CheckItem("database", error)]
        }
    }

    private var onlineItems: [CheckItem] {
        sortedApps.flatMap { name, apns in
            [("production", apns.endpoint), ("sandbox", apns.sandboxEndpoint)].map { environmentName, endpoint in
                ProviderProbe(app: name, environmentName: environmentName, endpoint: endpoint, credentials: apns)
                    .item(environment: environment)
            }
        }
    }
}
