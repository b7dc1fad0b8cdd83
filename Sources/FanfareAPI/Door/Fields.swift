internal import FanfareCore

/// Reads the members of a JSON object that came, and refuses what nobody asked for.
struct Fields {
    private var rest: [String: JSONValue]
    /// Where the object stands in the body, as a JSON pointer.
    private let pointer: String

    /// Begins with an object.
    ///
    /// - Parameters:
    ///   - value: what came.
    ///   - pointer: where it stands in the body.
    /// - Throws: a ``Problem`` if it is no object.
    init(_ value: JSONValue, at pointer: String = "") throws {
        guard let object = value.objectValue else {
            throw Self.refusal("is \(value.kindName), not an object", at: pointer)
        }
        rest = Dictionary(object.members.map { ($0.key, $0.value) }) { $1 }
        self.pointer = pointer
    }

    /// Text that may be missing or null.
    mutating func text(orNil key: String) throws -> String? {
        guard let value = take(key) else { return nil }
        guard let text = value.stringValue else { throw wrong(key, value, "a string") }
        // PostgreSQL has none, and says so in words that nobody understands.
        guard !text.contains("\0") else { throw Self.refusal("holds U+0000", at: place(key)) }
        return text
    }

    /// Text.
    mutating func text(_ key: String) throws -> String {
        try required(key, text(orNil: key))
    }

    /// A truth value that may be missing.
    mutating func bool(orNil key: String) throws -> Bool? {
        guard let value = take(key) else { return nil }
        guard let bool = value.boolValue else { throw wrong(key, value, "a boolean") }
        return bool
    }

    /// A truth value.
    mutating func bool(_ key: String) throws -> Bool {
        try required(key, bool(orNil: key))
    }

    /// An object that may be missing.
    mutating func object(orNil key: String) throws -> JSONObject? {
        guard let value = take(key) else { return nil }
        guard let object = value.objectValue else { throw wrong(key, value, "an object") }
        if let problem = StorableJSON.problem(in: value) {
            throw Self.refusal("\(problem.path) \(problem.reason)", at: place(key), hint: problem.hint)
        }
        return object
    }

    /// A list.
    mutating func list(_ key: String) throws -> [JSONValue] {
        let value = try required(key, take(key))
        guard let list = value.arrayValue else { throw wrong(key, value, "an array") }
        return list
    }

    /// A list of strings, that may be missing.
    mutating func texts(orNil key: String) throws -> [String]? {
        guard rest[key] != nil else { return nil }
        return try list(key).enumerated().map { index, item in
            guard let text = item.stringValue else { throw wrong("\(key)/\(index)", item, "a string") }
            return text
        }
    }

    /// Ids, as text or numbers.
    mutating func ids(_ key: String) throws -> [Int64] {
        try list(key).enumerated().map { index, value in
            guard let id = Int64(value.stringValue ?? value.text), id > 0 else {
                throw Self.refusal("is no id", at: "\(place(key))/\(index)")
            }
            return id
        }
    }

    /// A duration, as `90s` or `4h`, that may be missing.
    mutating func span(orNil key: String) throws -> TimeSpan? {
        guard let text = try text(orNil: key) else { return nil }
        guard let span = TimeSpan(text) else {
            throw Self.refusal("is no duration", at: place(key), hint: "Write 90s, 15m, 4h or 7d.")
        }
        return span
    }

    /// A time of RFC 3339, or a duration as `90s` or `4h`, that may be missing; PostgreSQL reads `tomorrow`, which nobody should send.
    ///
    /// Whether there is such a day is for the database to say.
    mutating func time(orNil key: String) throws -> String? {
        guard let text = try text(orNil: key) else { return nil }
        let isTime = text.wholeMatch(of: /\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)/) != nil
        guard isTime || TimeSpan(text) != nil else {
            throw Self.refusal(
                "is neither a time nor a duration",
                at: place(key),
                hint: "Write 2026-11-26T08:00:00Z, 2026-11-26T08:00:00+01:00, 90s, 15m, 4h or 7d."
            )
        }
        return text
    }

    /// A time or a duration; see ``time(orNil:)``.
    mutating func time(_ key: String) throws -> String {
        try required(key, time(orNil: key))
    }

    /// Refuses members that were not read.
    func end() throws {
        guard let key = rest.keys.min() else { return }
        throw Self.refusal("unknown property", at: place(key))
    }

    private mutating func take(_ key: String) -> JSONValue? {
        guard let value = rest.removeValue(forKey: key), !value.isNull else { return nil }
        return value
    }

    private func required<Value>(_ key: String, _ value: Value?) throws -> Value {
        guard let value else { throw Self.refusal("is missing", at: place(key)) }
        return value
    }

    private func wrong(_ key: String, _ value: JSONValue, _ kind: String) -> Problem {
        Self.refusal("is \(value.kindName), not \(kind)", at: place(key))
    }

    private func place(_ key: String) -> String {
        "\(pointer)/\(key.replacing("~", with: "~0").replacing("/", with: "~1"))"
    }

    /// Says what is wrong at a place of the body.
    static func refusal(_ reason: String, at pointer: String, hint: String = "") -> Problem {
        var problem = Problem(.refused, pointer.isEmpty ? "the body \(reason)" : "\(pointer): \(reason)", hint: hint)
        problem.pointer = pointer
        return problem
    }
}
