internal import FanfareCore
internal import FanfareHTTP

/// Reads the members of a JSON object from a request, and refuses unknown ones.
struct Fields {
    private var rest: [String: JSONValue]
    /// The JSON pointer to the object in the body.
    private let pointer: String

    /// Creates a reader of an object.
    ///
    /// - Parameters:
    ///   - value: the received value.
    ///   - pointer: the JSON pointer to it in the body.
    /// - Throws: a ``Problem`` if it is not an object.
    init(_ value: JSONValue, at pointer: String = "") throws {
        guard let object = value.objectValue else {
            throw Self.refusal("is \(value.kindName), not an object", at: pointer)
        }
        rest = Dictionary(object.members.map { ($0.key, $0.value) }) { $1 }
        self.pointer = pointer
    }

    /// Returns a string, or nil if it is missing or null.
    mutating func text(orNil key: String) throws -> String? {
        guard let value = take(key) else { return nil }
        guard let text = value.stringValue else { throw wrong(key, value, "a string") }
        // PostgreSQL's text has no U+0000, and its own error message does not say so clearly.
        guard !text.contains("\0") else { throw Self.refusal("holds U+0000", at: place(key)) }
        return text
    }

    /// Returns a string.
    mutating func text(_ key: String) throws -> String {
        try required(key, text(orNil: key))
    }

    /// Returns a boolean, or nil if it is missing or null.
    mutating func bool(orNil key: String) throws -> Bool? {
        guard let value = take(key) else { return nil }
        guard let bool = value.boolValue else { throw wrong(key, value, "a boolean") }
        return bool
    }

    /// Returns a boolean.
    mutating func bool(_ key: String) throws -> Bool {
        try required(key, bool(orNil: key))
    }

    /// Returns an object that the database can store, or nil if it is missing or null.
    mutating func object(orNil key: String) throws -> JSONObject? {
        guard let value = take(key) else { return nil }
        guard let object = value.objectValue else { throw wrong(key, value, "an object") }
        if let problem = StorableJSON.problem(in: value) {
            throw Self.refusal("\(problem.path) \(problem.reason)", at: place(key), hint: problem.hint)
        }
        return object
    }

    /// Returns all members that were not read, without those that are null, as an object that the database can store.
    mutating func object() throws -> JSONObject {
        var object = JSONObject()
        for key in rest.keys.sorted() { object[key] = take(key) }
        if let problem = StorableJSON.problem(in: .object(object)) {
            let hint = problem.hint
            throw Self.refusal("\(problem.path) \(problem.reason)", at: pointer, hint: hint)
        }
        return object
    }

    /// Returns an array.
    mutating func list(_ key: String) throws -> [JSONValue] {
        let value = try required(key, take(key))
        guard let list = value.arrayValue else { throw wrong(key, value, "an array") }
        return list
    }

    /// Returns an array of strings, or nil if it is missing.
    mutating func texts(orNil key: String) throws -> [String]? {
        guard rest[key] != nil else { return nil }
        return try list(key).enumerated().map { index, item in
            guard let text = item.stringValue else {
                throw Self.refusal("is \(item.kindName), not a string", at: "\(place(key))/\(index)")
            }
            return text
        }
    }

    /// Returns one of some words, or nil if it is missing or null.
    mutating func word(orNil key: String, of words: [String]) throws -> String? {
        guard let word = try text(orNil: key) else { return nil }
        return try Self.checked(word, words, at: place(key))
    }

    /// Returns a list of some words, or nil if it is missing or null.
    mutating func words(orNil key: String, of words: [String]) throws -> [String]? {
        if rest[key]?.isNull == true { rest[key] = nil }
        return try texts(orNil: key)?.enumerated().map {
            try Self.checked($0.element, words, at: "\(place(key))/\($0.offset)")
        }
    }

    private static func checked(_ word: String, _ words: [String], at place: String) throws -> String {
        guard !words.contains(word) else { return word }
        let shown = words.dropLast().joined(separator: ", ")
        throw refusal("is not one of its values", at: place, hint: "Use \(shown) or \(words.last ?? "").")
    }

    /// Returns ids, given as strings or numbers.
    mutating func ids(_ key: String) throws -> [Int64] {
        try list(key).enumerated().map { index, value in
            guard let id = Int64(value.stringValue ?? value.text), id > 0 else {
                throw Self.refusal("is not an id", at: "\(place(key))/\(index)")
            }
            return id
        }
    }

    /// Returns a duration such as `90s` or `4h`, or nil if it is missing or null.
    mutating func span(orNil key: String) throws -> TimeSpan? {
        guard let text = try text(orNil: key) else { return nil }
        guard let span = TimeSpan(text) else {
            throw Self.refusal("is not a duration", at: place(key), hint: "Write 90s, 15m, 4h or 7d.")
        }
        return span
    }

    /// Returns an RFC 3339 time or a duration such as `90s` or `4h`, or nil if it is missing or null.
    ///
    /// PostgreSQL would also accept words such as `tomorrow`, which are refused here. The database checks whether the
    /// day exists.
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

    /// Returns a time or a duration; see ``time(orNil:)``.
    mutating func time(_ key: String) throws -> String {
        try required(key, time(orNil: key))
    }

    /// Throws if a member was not read.
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

    /// Describes what is wrong at a place of the body.
    static func refusal(_ reason: String, at pointer: String, hint: String = "") -> Problem {
        var problem = Problem(.refused, pointer.isEmpty ? "the body \(reason)" : "\(pointer): \(reason)", hint: hint)
        problem.pointer = pointer
        return problem
    }
}
