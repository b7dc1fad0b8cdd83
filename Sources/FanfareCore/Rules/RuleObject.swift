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
}
