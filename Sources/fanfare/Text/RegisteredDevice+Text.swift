import FanfareCore
import FanfareRecords
import FanfareTools
import PostgresClient

extension RegisteredDevice {
    /// Name and value of each property, as text for people.
    var text: String {
        json.objectValue?.members.map { member in
            let value = member.value.stringValue ?? (member.value.isNull ? "-" : member.value.text)
            let name = member.key.replacing("_", with: " ")
            return name + String(repeating: " ", count: max(1, 17 - name.count)) + value.printable
        }.joined(separator: "\n") ?? ""
    }

    /// Formats devices as a table.
    ///
    /// - Parameter devices: the rows.
    /// - Returns: the table.
    static func table(_ devices: [RegisteredDevice]) -> String {
        var table = TextTable([
            "id", "app", "provider", "environment", "kind", "user", "locale", "permission", "registered", "disabled",
        ])
        for device in devices {
            table.append([
                "\(device.id)", device.app, device.provider, device.environment, device.kind, device.userID ?? "-",
                device.locale ?? "-", device.permission ?? "-", device.registeredAt.rfc3339,
                device.disabledReason ?? "-",
            ])
        }
        return table.text
    }
}
