import FanfareCore
import FanfareRecords
import FanfareTools

extension PolicyRow: Tabular {
    /// Formats policies as a table.
    ///
    /// - Parameter policies: the rows.
    /// - Returns: the table.
    static func table(_ policies: [PolicyRow]) -> String {
        var table = TextTable(["app", "time zone", "quiet hours", "caps", "rate", "providers"])
        for policy in policies {
            let providers = (policy.definition["providers"]?.objectValue?.members ?? []).map { provider in
                "\(provider.key) \(provider.value["rate"]?.stringValue ?? "-")"
            }
            let caps = (policy.definition["caps"]?.objectValue?.members ?? []).map { cap in
                "\(cap.key) \(cap.value["max"]?.text ?? "?")/\(cap.value["per"]?.stringValue ?? "?")"
            }
            table.append([
                policy.app, policy.definition["time_zone"]?.stringValue ?? "-",
                policy.definition["quiet_hours"].map(Self.text(quiet:)) ?? "-",
                caps.isEmpty ? "-" : caps.joined(separator: ", "), policy.definition["rate"]?.stringValue ?? "-",
                providers.isEmpty ? "-" : providers.joined(separator: ", "),
            ])
        }
        return table.text
    }

    private static func text(quiet: JSONValue) -> String {
        let times = ["from", "until"].map { quiet[$0]?.stringValue ?? "?" }.joined(separator: "–")
        return "\(times) \(quiet["mode"]?.stringValue ?? QuietHours.Mode.hold.rawValue)"
    }
}
