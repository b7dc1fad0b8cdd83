/// A JSON value; unlike `JSONSerialization` on Linux it distinguishes `true` from `1`.
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The string; nil for another value.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The object; nil for another value.
    var members: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The value as JSON text, with keys in their order.
    var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): "\(value)"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
        case .object(let object):
            "{" + object.members.map { Self.quoted($0.name) + ":" + $0.value.json }.joined(separator: ",") + "}"
        }
    }

    /// Returns a JSON string, which is also a YAML double-quoted scalar.
    static func quoted(_ text: String) -> String {
        var line = JSONLine()
        line.append(string: text)
        return String(decoding: line.bytes, as: UTF8.self)
    }
}

/// The members of a JSON object in the order of the text, which the paths in FCM's errors follow.
struct JSONObject: Sendable {
    private(set) var members: [(name: String, value: JSONValue)] = []

    mutating func append(_ name: String, _ value: JSONValue) {
        members.append((name, value))
    }

    /// Returns the member of a name; the last one if there are several.
    subscript(name: String) -> JSONValue? {
        members.last { $0.name == name }?.value
    }
}
