package import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareService
package import PostgresClient

/// Parses JSON from the command line or a request.
package enum ToolJSON {
    /// Parses an object that is an input of an operation.
    ///
    /// - Parameters:
    ///   - text: the JSON.
    ///   - input: the input.
    /// - Returns: the object.
    /// - Throws: ``ToolError`` of kind `usage`; its message does not quote the text.
    package static func object(_ text: String, as input: ToolError.Input) throws(ToolError) -> JSONObject {
        try object(text, named: input.name, subject: .input(input))
    }

    /// Parses an object.
    ///
    /// - Parameters:
    ///   - text: the JSON.
    ///   - name: the name in messages.
    ///   - subject: the subject of errors.
    /// - Returns: the object.
    /// - Throws: ``ToolError`` of kind `usage`; its message does not quote the text.
    package static func object(
        _ text: String,
        named name: String,
        subject: ToolError.Subject? = nil
    ) throws(ToolError) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text)
        } catch {
            let hint = "Quote it for the shell: '{\"id\": 7}'."
            throw ToolError(.usage, "\(name) is not JSON: \(error)", hint: hint, subject: subject)
        }
        guard let object = value.objectValue else {
            let reason = "\(name) is \(value.kindName), not an object"
            throw ToolError(.usage, reason, hint: "Write {\"id\": 7}.", subject: subject)
        }
        if let problem = StorableJSON.problem(in: value) {
            let reason = "\(name): \(problem.path) \(problem.reason)"
            throw ToolError(.usage, reason, hint: "\(problem.hint).", subject: subject)
        }
        return object
    }
}

extension JSONValue {
    /// Returns the value as indented text: a line for each member and element, keys in order, numbers as written.
    ///
    /// - Parameter margin: white space before all lines but the first.
    /// - Returns: the text.
    package func indented(_ margin: String = "") -> String {
        let inner = margin + "  "
        switch self {
        case .object(let object) where !object.isEmpty:
            let members = object.members.map { member in
                "\(inner)\(JSONValue.string(member.key).text): \(member.value.indented(inner))"
            }
            return "{\n\(members.joined(separator: ",\n"))\n\(margin)}"
        case .array(let elements) where !elements.isEmpty:
            return "[\n\(elements.map { inner + $0.indented(inner) }.joined(separator: ",\n"))\n\(margin)]"
        default: return text
        }
    }

    /// Makes a string, or null for nil.
    package init(orNull text: String?) { self = text.map(JSONValue.string) ?? .null }

    /// Makes a string of an id, because JavaScript's numbers are too small for it; null for nil.
    package init(id: Int64?) { self = id.map { .string("\($0)") } ?? .null }

    /// Makes a number, or null for nil.
    package init(orNull number: Int64?) { self = number.map { .number(JSONNumber($0)) } ?? .null }

    /// Makes a number.
    package init(_ number: Int64) { self = .number(JSONNumber(number)) }

    /// Makes a string of a time: RFC 3339, in UTC.
    package init(_ time: Timestamp) { self = .string(time.rfc3339) }
}

extension Timestamp {
    /// The time as RFC 3339 text in UTC.
    package var rfc3339: String { LogTimestamp(microsecondsSince1970: microseconds).description }
}
