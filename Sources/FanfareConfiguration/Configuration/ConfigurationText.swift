/// A value as written, before its type is known.
package enum ConfigurationText: Sendable {
    case yaml(YAMLValue)
    /// A value of an environment variable or a flag: a text, in which commas separate the elements of a list.
    case plain(String)

    /// Returns the value as text.
    ///
    /// A YAML number is allowed too, as written, because a key id may consist of digits.
    ///
    /// - Parameter expected: the start of the error message.
    /// - Returns: the text.
    /// - Throws: an error if the value is not a text.
    package func string(expected: String) throws(ConfigurationValueError) -> String {
        guard case .yaml(let value) = self else { return plainText }
        switch value.content {
        case .string, .number: return value.text
        case .bool: throw ConfigurationValueError("\(expected), found a boolean; quote it if it is text")
        case .null, .list, .map: throw ConfigurationValueError("\(expected), found \(value.kind)")
        }
    }

    /// Returns the value as a boolean; a quoted one is refused.
    ///
    /// - Parameter expected: the start of the error message.
    /// - Returns: the boolean.
    /// - Throws: an error if the value is not a boolean.
    package func flag(expected: String) throws(ConfigurationValueError) -> Bool {
        switch self {
        case .plain("true"): return true
        case .plain("false"): return false
        case .plain: throw ConfigurationValueError(expected)
        case .yaml(let value):
            guard case .bool(let flag) = value.content else {
                throw ConfigurationValueError("\(expected), found \(value.kind)")
            }
            return flag
        }
    }

    /// Returns the value as the text of a number; a quoted number is refused.
    ///
    /// - Parameter expected: the start of the error message.
    /// - Returns: the number as written.
    /// - Throws: an error if the value is not a number.
    package func number(expected: String) throws(ConfigurationValueError) -> String {
        guard case .yaml(let value) = self else { return plainText }
        guard case .number = value.content else { throw ConfigurationValueError("\(expected), found \(value.kind)") }
        return value.text
    }

    /// Returns the value as a list of texts.
    ///
    /// - Parameter expected: the start of the error message.
    /// - Returns: the texts.
    /// - Throws: an error if the value is not a list, or contains other values.
    package func list(expected: String) throws(ConfigurationValueError) -> [String] {
        guard case .yaml(let value) = self else {
            return plainText.split(separator: ",").map { String($0.trimmingSpaces) }
        }
        guard case .list(let items) = value.content else {
            throw ConfigurationValueError("\(expected), found \(value.kind)")
        }
        var texts: [String] = []
        for item in items { texts.append(try ConfigurationText.yaml(item).string(expected: expected)) }
        return texts
    }

    private var plainText: String {
        if case .plain(let text) = self { text } else { "" }
    }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    fileprivate var trimmingSpaces: SubSequence {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return start.prefix(0) }
        return start[...end]
    }
}

extension String {
    /// Returns the text; refuses `${NAME}` in keys that do not expand variables.
    package func withoutVariables() throws(ConfigurationValueError) -> String {
        guard !contains("${") else {
            throw ConfigurationValueError(
                "${NAME} is expanded in keys that end in _file only; set the whole value by its environment variable"
            )
        }
        return self
    }
}

extension ConfigurationPlace {
    /// Expands `${NAME}` and makes the path absolute.
    ///
    /// - Parameter text: the configured text.
    /// - Returns: an absolute path; the file need not exist.
    /// - Throws: an error if a variable is not set.
    func path(_ text: String) throws(ConfigurationValueError) -> String {
        let path = try expand(text)
        return path.hasPrefix("/") ? path : "\(directory == "/" ? "" : directory)/\(path)"
    }

    private static func hint(for variable: String) -> String {
        variable == "CREDENTIALS_DIRECTORY"
            ? "; systemd sets it for the service only: `export CREDENTIALS_DIRECTORY=/etc/fanfare/credentials` as root"
            : ""
    }

    private func expand(_ text: String) throws(ConfigurationValueError) -> String {
        var result = ""
        var rest = text[...]
        while let opening = rest.firstRange(of: "${") {
            guard let closing = rest[opening.upperBound...].firstIndex(of: "}") else {
                throw ConfigurationValueError("has ${ without }")
            }
            let name = String(rest[opening.upperBound..<closing])
            guard
                let value = environment[name].flatMap({ $0.isEmpty ? nil : $0 })
                    ?? (leavesVariables ? "${\(name)}" : nil)
            else {
                throw ConfigurationValueError(
                    "uses ${\(name)}, but that environment variable is not set" + Self.hint(for: name)
                )
            }
            result += rest[..<opening.lowerBound] + value
            rest = rest[rest.index(after: closing)...]
        }
        return result + rest
    }
}
