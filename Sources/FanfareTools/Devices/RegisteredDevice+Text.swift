public import FanfareCore
public import FanfareRecords
internal import PostgresClient

extension RegisteredDevice {
    /// The device as JSON.
    public var json: JSONValue {
        var object = JSONObject()
        object["device_id"] = JSONValue(id)
        object["app"] = .string(app)
        object["provider"] = .string(provider)
        object["environment"] = .string(environment)
        object["kind"] = .string(kind)
        object["token_hash"] = .string(tokenHash)
        object["user_id"] = JSONValue(orNull: userID)
        object["locale"] = JSONValue(orNull: locale)
        object["time_zone"] = JSONValue(orNull: timeZone)
        object["attributes"] = attributes.flatMap { try? JSONValue(parsing: $0) } ?? .null
        object["registered_at"] = JSONValue(registeredAt)
        object["disabled_at"] = disabledAt.map { JSONValue($0) } ?? .null
        object["disabled_reason"] = JSONValue(orNull: disabledReason)
        if let topics { object["topics"] = .array(topics.map(JSONValue.string)) }
        return .object(object)
    }

    /// Name and value of each property, as text for people.
    public var text: String {
        json.objectValue?.members.map { member in
            let value = member.value.stringValue ?? (member.value.isNull ? "-" : member.value.text)
            let name = member.key.replacing("_", with: " ")
            return name + String(repeating: " ", count: max(1, 17 - name.count)) + TextTable.printable(value)
        }.joined(separator: "\n") ?? ""
    }

    /// Formats devices as a table.
    ///
    /// - Parameter devices: the rows.
    /// - Returns: the table.
    public static func table(_ devices: [RegisteredDevice]) -> String {
        var table = TextTable([
            "id", "app", "provider", "environment", "kind", "user", "locale", "registered", "disabled",
        ])
        for device in devices {
            table.append([
                "\(device.id)", device.app, device.provider, device.environment, device.kind, device.userID ?? "-",
                device.locale ?? "-", device.registeredAt.rfc3339, device.disabledReason ?? "-",
            ])
        }
        return table.text
    }
}
