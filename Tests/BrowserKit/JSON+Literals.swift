// Not by nil: where a JSON or nothing is wanted, nil would be a JSON.

extension JSON: ExpressibleByBooleanLiteral {
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON: ExpressibleByIntegerLiteral {
    /// A whole number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
}

extension JSON: ExpressibleByFloatLiteral {
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
}

extension JSON: ExpressibleByStringLiteral {
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSON: ExpressibleByArrayLiteral {
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
}

extension JSON: ExpressibleByDictionaryLiteral {
    /// An object; of two members with one name the last one stays.
    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
