public import FanfareConfiguration
public import FanfareProviders
internal import FanfareTools

/// Checks the keys that phone tokens are signed with, for `fanfare check`.
public enum PhoneCheckup {
    /// Checks the keys of all apps.
    ///
    /// - Parameters:
    ///   - configuration: validated values.
    ///   - environment: variables of the process.
    /// - Returns: an item for each app with `jwt`, and a warning if there is one but no listener.
    public static func items(_ configuration: Configuration, environment: [String: String]) -> [CheckItem] {
        var items: [CheckItem] = []
        for (app, settings) in configuration.apps.sorted(by: { $0.key < $1.key }).map({ ($0.key, $0.value.phones) }) {
            guard let file = settings.keysFile else { continue }
            let name = "phones of \(app)"
            let keys: PhoneKeySet
            do throws(ToolError) {
                keys = try PhoneKeysFile.read(settings, app: app, environment: environment)
            } catch {
                items.append(CheckItem(.fail, name, error.reason, advice: error.hint))
                continue
            }
            let kinds = keys.keys.map(\.algorithm.rawValue).joined(separator: ", ")
            items.append(CheckItem(.ok, name, "\(file) has keys for \(kinds); aud is \(app)"))
        }
        if !items.isEmpty, configuration.api.listen == nil {
            items.append(
                CheckItem(.warn, "phones", "nothing listens where they could come", advice: "Set `api.listen`.")
            )
        }
        return items
    }
}
