/// Any JSON value: the parameter of a WebDriver command, and the result of a script or of DevTools.
public enum JSON: Codable, Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Returns the member of an object; null if there is none, or this is no object.
    public subscript(name: String) -> JSON {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    /// The string; nil for another value.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number, if it is an integer.
    public var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return Int(exactly: number)
    }

    /// The elements of an array; empty for another value.
    public var elements: [JSON] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// Reads any value.
    ///
    /// - Parameter decoder: a decoder of JSON.
    /// - Throws: if the input is not JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// Writes the value.
    ///
    /// - Parameter encoder: an encoder of JSON.
    /// - Throws: the encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            // Commands that expect an integer reject 1.0.
            if let integer = Int(exactly: value) { try container.encode(integer) } else { try container.encode(value) }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
