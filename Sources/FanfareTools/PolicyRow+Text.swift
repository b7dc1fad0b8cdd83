public import FanfareCore
public import FanfareStore

extension PolicyRow {
    /// All of it as JSON.
    public var json: JSONValue { ["app": .string(app), "policy": definition] }

    /// Policies as a table.
    ///
    /// - Parameter policies: the rows.
    /// - Returns: the text.
    public static func table(_ policies: [PolicyRow]) -> String {
        var table = TextTable(["app", "time zone", "rate", "providers"])
        for policy in policies {
            let providers = (policy.definition["providers"]?.objectValue?.members ?? []).map { provider in
                "\(provider.key) \(provider.value["rate"]?.stringValue ?? "-")"
            }
            table.append([
                policy.app, policy.definition["time_zone"]?.stringValue ?? "-",
                policy.definition["rate"]?.stringValue ?? "-",
                providers.isEmpty ? "-" : providers.joined(separator: ", "),
            ])
        }
        return table.text
    }
}
