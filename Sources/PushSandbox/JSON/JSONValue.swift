/// A JSON value of any shape; unlike `JSONSerialization` on Linux it keeps `true` and `1` apart.
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The text of a string, nil for anything else.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The members of an object, nil for anything else.
    var members: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The value as JSON text, keys in their order.
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

    /// A JSON string; also a YAML double-quoted scalar, of which JSON strings are a subset.
    static func quoted(_ text: String) -> String {
        var line = JSONLine()
        line.append(string: text)
        return String(decoding: line.bytes, as: UTF8.self)
    }
}

/// The members of a JSON object in the order in which they came, which the paths in FCM's errors count by.
struct JSONObject: Sendable {
    private(set) var members: [(name: String, value: JSONValue)] = []

    mutating func append(_ name: String, _ value: JSONValue) {
        members.append((name, value))
    }

    /// The member of that name, the last one if several have it.
    subscript(name: String) -> JSONValue? {
        members.last { $0.name == name }?.value
    }
}
