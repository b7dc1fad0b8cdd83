public import FanfareConfiguration
internal import FanfareCore
internal import FanfareFeedback
public import FanfareProviders
internal import FanfareService
internal import PostgresClient
internal import PushTransport
internal import Threading

/// Checks everything that a daemon needs, without changing anything.
public struct Checkup: Sendable {
    private let configuration: Configuration
    private let environment: [String: String]

    /// Takes the configuration to check.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process.
    public init(_ configuration: Configuration, environment: [String: String]) {
        self.configuration = configuration
        self.environment = environment
    }

    /// Returns the item for a configuration that cannot be read.
    ///
    /// - Parameter error: the configuration's error.
    /// - Returns: the only item of such a check.
    public static func unreadable(_ error: ConfigurationError) -> CheckItem {
        CheckItem(.fail, "configuration", error.description, advice: error.mend)
    }

    /// Checks configuration, key files and database.
    ///
    /// Takes a few seconds at most. With `online` it blocks the thread for up to 20 seconds more per provider.
    ///
    /// - Parameter online: whether to probe the providers too, with one request each that reaches no device. Web Push
    ///   is not probed, because push services answer only for subscriptions.
    /// - Returns: the items, in the order in which they depend on each other.
    public func items(online: Bool) async -> [CheckItem] {
        await configurationItems + keyItems + certificateItems + feedbackItems + databaseItems()
            + (online ? onlineItems : [])
    }

    private var configurationItems: [CheckItem] {
        let source = configuration.file.map { "from \($0)" } ?? "no file: all of it from the environment and flags"
        var items = [CheckItem(.ok, "configuration", "\(Self.count(of: configuration.apps)), \(source)")]
        if let proxy = configuration.send.proxy {
            do throws(TransportError) {
                _ = try proxy.credentials()
                items.append(CheckItem(.ok, "proxy", "\(proxy) carries requests to APNs and FCM"))
            } catch {
                items.append(
                    CheckItem(.fail, "proxy", error.description, advice: "Put the password of the proxy's user there.")
                )
            }
        }
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
        items.append(DescriptorNeed(configuration).item(.current))
        return items
    }

    private static func count(of apps: [String: Configuration.App]) -> String {
        apps.count == 1 ? "1 app" : "\(apps.count) apps"
    }

    private var sortedApps: [(name: String, app: Configuration.App)] {
        configuration.apps.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func checkup(of app: String) -> CredentialCheckup {
        CredentialCheckup(
            app: app,
            files: CredentialFiles(environment: environment),
            transports: ProviderTransports(configuration.send),
            now: Clocks.wallSeconds
        )
    }

    private var keyItems: [CheckItem] {
        sortedApps.flatMap { name, app in
            Providers.all.flatMap { $0.checkup(of: app, checkup(of: name)) }
        }
    }

    private var certificateItems: [CheckItem] {
        APICertificate(configuration.api, environment: environment).map { [$0.item(at: Clocks.wallSeconds)] } ?? []
    }

    private var feedbackItems: [CheckItem] {
        configuration.feedback.sorted { $0.key < $1.key }.map { name, settings in
            let what = "feedback \(name)"
            do throws(DaemonError) {
                _ = try FeedbackHook.read([name: settings], environment: environment)
            } catch {
                return CheckItem(.fail, what, error.reason, advice: error.hint)
            }
            let place = settings.url.map { "posted to \($0)" } ?? "notified on \(settings.channel ?? "")"
            let told = settings.outcomes.map(\.rawValue) + settings.reports.map { "push.\($0.rawValue)" }
            return CheckItem(.ok, what, "\(told.joined(separator: ", ")): \(place)")
        }
    }

    private func databaseItems() async -> [CheckItem] {
        do throws(ToolError) {
            let database = try ToolDatabase(configuration, environment: environment)
            return try await database.whileOpen { database throws(ToolError) in
                try await database.run { connection throws(PostgresError) in
                    try DatabaseCheckup(connection: connection, configuration: configuration).items()
                } + database.serverItems
            }
        } catch {
            return [CheckItem("database", error)]
        }
    }

    private var onlineItems: [CheckItem] {
        sortedApps.flatMap { name, app in
            Providers.all.flatMap { $0.probe(of: app, checkup(of: name)) }
        }
    }
}
