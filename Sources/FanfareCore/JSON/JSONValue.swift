/// A lossless JSON value (RFC 8259): numbers keep their text, objects the order of their keys.
///
/// Equality is that of JSON values: `1.0 == 1`, integers of any size compare exactly, and the order of keys is ignored.
public enum JSONValue: Sendable, Hashable {
    /// The literal `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, with its text as written.
    case number(JSONNumber)
    /// A string, unescaped.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue {
    /// The members, if this is an object.
    public var objectValue: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The elements, if this is an array.
    public var arrayValue: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text, if this is a string.
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if this is one.
    public var numberValue: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The truth value, if this is one.
    public var boolValue: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// Whether this is the literal `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The member of an object; nil if the value is not an object or has no such key.
    ///
    /// - Parameter key: the key, compared as Unicode text.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// The kind of value, for messages: "a string", "an object".
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The nesting of arrays and objects: 0 for a scalar, 1 for `[]`.
    public var depth: Int {
        switch self {
        case .null, .bool, .number, .string: 0
        case .array(let elements): 1 + (elements.lazy.map(\.depth).max() ?? 0)
        case .object(let object): 1 + (object.members.lazy.map(\.value.depth).max() ?? 0)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    ///
    /// - Parameter value: the text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes a number.
    ///
    /// - Parameter value: the number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

    /// Makes a truth value.
    ///
    /// - Parameter value: the truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes `null`.
    ///
    /// - Parameter nilLiteral: nothing.
    public init(nilLiteral: ()) { self = .null }

    /// Makes an array.
    ///
    /// - Parameter elements: its elements.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Makes an object; the last value of a repeated key wins.
    ///
    /// - Parameter elements: its members, in order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}
