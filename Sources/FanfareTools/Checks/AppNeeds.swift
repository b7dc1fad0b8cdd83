internal import FanfareConfiguration
internal import FanfareProviders
internal import FanfareRecords

/// What an app has in the database but this configuration has no credentials for.
struct AppNeeds {
    /// The number of rules that the warning names at most.
    private static let shown = 5

    private let use: AppUse
    private let app: Configuration.App?

    /// - Parameters:
    ///   - use: the app's devices and rules in the database.
    ///   - app: the app's credentials; nil if the configuration lacks the app.
    init(_ use: AppUse, _ app: Configuration.App?) {
        self.use = use
        self.app = app
    }

    /// The warning; nil if no credentials are lacking.
    var item: CheckItem? {
        guard app == nil else { return itemOfProviders }
        var parts: [String] = []
        if !use.providers.isEmpty { parts.append("\(use.providers.joined(separator: ", ")) devices") }
        if !use.rules.isEmpty { parts.append(rules) }
        guard !parts.isEmpty else { return nil }
        return CheckItem(
            .warn,
            "app \(use.name)",
            "has \(parts.joined(separator: " and ")) in the database, and no credentials: nothing is sent for it",
            advice: "Add apps.\(use.name) to the configuration, unless another daemon sends for it."
        )
    }

    private var rules: String {
        let names = use.rules.prefix(Self.shown).joined(separator: ", ") + (use.rules.count > Self.shown ? ", …" : "")
        return "\(use.rules.count) rule\(use.rules.count == 1 ? "" : "s") (\(names))"
    }

    private var itemOfProviders: CheckItem? {
        let able = Providers.serving(app)
        let lacking = use.providers.filter { !able.contains($0) }
        guard !lacking.isEmpty else { return nil }
        let blocks = lacking.map { "apps.\(use.name).\($0)" }.joined(separator: " and ")
        return CheckItem(
            .warn,
            "app \(use.name)",
            "has \(lacking.joined(separator: ", ")) devices, and no credentials for them: nothing is sent to them",
            advice: "Add \(blocks) to the configuration, unless another daemon sends for it."
        )
    }
}
