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
        object["address"] = .string(address)
        object["permission"] = JSONValue(orNull: permission)
        object["presents"] = presents.map { .array($0.map(JSONValue.string)) } ?? .null
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
}
