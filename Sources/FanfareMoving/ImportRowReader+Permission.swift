internal import FanfareCore

extension ImportRowReader {
    /// Returns what the phone's user allows; nil if the user was not asked.
    func permission(_ values: Values) throws(ImportRowError) -> String? {
        guard let text = values[.permission] else { return nil }
        switch ImportField.key(text) {
        case "authorized", "granted", "ephemeral": return "authorized"
        case "provisional": return "provisional"
        case "denied": return "denied"
        case "notdetermined", "default", "prompt": return nil
        default: throw values.refusal(.permission, "is none of authorized, provisional and denied: \(shown(text))")
        }
    }

    /// Returns which of alert, badge and sound are on, as a list of names.
    func presents(_ values: Values) throws(ImportRowError) -> JSONValue? {
        guard let text = values[.presents] else { return nil }
        guard let names = Self.names(in: text) else { throw values.refusal(.presents, "is not a JSON array") }
        return names
    }

    /// Returns the names of a cell: a JSON array, or names between commas, semicolons or spaces; nil for broken JSON.
    static func names(in text: String) -> JSONValue? {
        if text.hasPrefix("[") { return (try? JSONValue(parsing: text))?.arrayValue.map(JSONValue.array) }
        let names = text.split(whereSeparator: { $0 == ";" || $0 == "," || $0 == " " })
        return .array(names.map { .string(String($0)) })
    }
}
