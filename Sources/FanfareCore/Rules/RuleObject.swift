/// An object inside a rule with its path: reads members by type, and checks the keys.
package struct RuleObject {
    package let path: String
    package let object: JSONObject

    /// Takes a value that must be an object.
    package init(_ value: JSONValue, path: String) throws(RuleProblem) {
        guard let object = value.objectValue else {
            throw RuleProblem(path: path, reason: "is \(value.kindName)", hint: "an object is needed")
        }
        self.path = path
        self.object = object
    }

    /// Returns the path of a member.
    package func path(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// Refuses unknown keys.
    package func checkKeys(_ known: [String]) throws(RuleProblem) {
        for key in object.keys where !known.contains(key) {
            throw RuleProblem(
                path: path(key),
                reason: "unknown key",
                hint: NearestName.hint(for: key, among: known)
            )
        }
    }

    package func object(_ key: String) throws(RuleProblem) -> RuleObject? {
        guard let value = object[key] else { return nil }
        return try RuleObject(value, path: path(key))
    }

    package func string(_ key: String) throws(RuleProblem) -> String? {
        guard let value = object[key] else { return nil }
        guard let text = value.stringValue else {
            throw RuleProblem(path: path(key), reason: "is \(value.kindName)", hint: "a string is needed")
        }
        return text
    }

    package func bool(_ key: String) throws(RuleProblem) -> Bool? {
        guard let value = object[key] else { return nil }
        guard let flag = value.boolValue else {
            throw RuleProblem(path: path(key), reason: "is \(value.kindName)", hint: "write true or false")
        }
        return flag
    }

    /// Reads a case of an enumeration.
    package func word<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        _: Word.Type
    ) throws(RuleProblem) -> Word? where Word.RawValue == String {
        try word(key, among: Word.allCases.map { ($0.rawValue, $0) })
    }

    /// Reads one of a list of words.
    package func word<Word>(_ key: String, among words: [(name: String, word: Word)]) throws(RuleProblem) -> Word? {
        guard let text = try string(key) else { return nil }
        if let known = words.first(where: { $0.name == text }) { return known.word }
        let hint = NearestName.hint(for: text, among: words.map(\.name))
        throw RuleProblem(path: path(key), reason: "'\(text.prefix(80))' is not one of its values", hint: hint)
    }

    package func duration(_ key: String) throws(RuleProblem) -> TimeSpan? {
        guard let text = try string(key) else { return nil }
        guard let span = TimeSpan(text) else {
            throw RuleProblem(path: path(key), reason: "is not a duration", hint: TimeSpan.hint)
        }
        return span
    }
}
