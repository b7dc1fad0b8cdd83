extension DefinitionObject {
    /// The rows of `fanfare.definition_keys`, as written in `schema.sql`.
    package static var sqlValues: String {
        written.flatMap { object in
            object.keys.enumerated().map { "    \($1.sqlValues(of: object, position: $0 + 1))" }
        }.joined(separator: ",\n")
    }
}

extension DefinitionKey {
    /// The columns object, position, key, form, members, low, high, words, required, reason and hint.
    fileprivate func sqlValues(of object: DefinitionObject, position: Int) -> String {
        let range = form.sqlRange
        let columns = [
            Self.literal(object.rawValue), "\(position)", Self.literal(name), Self.literal(form.sqlName),
            Self.literal(form.object?.rawValue), range.map { "\($0.lowerBound)" } ?? "NULL",
            range.map { "\($0.upperBound)" } ?? "NULL",
            Self.literal(form.sqlWords.map { "{\($0.joined(separator: ","))}" }),
            "\(isRequired)", Self.literal(reason), Self.literal(hint),
        ]
        return "(\(columns.joined(separator: ", ")))"
    }

    private static func literal(_ text: String?) -> String {
        guard let text else { return "NULL" }
        return "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
    }
}

extension DefinitionForm {
    /// The form in `fanfare.value_error`.
    fileprivate var sqlName: String {
        switch self {
        case .string, .sql, .template: "string"
        case .filledTemplate, .text: "text"
        case .ids: "ids"
        case .appName: "app_name"
        case .ruleName: "rule_name"
        case .eventType: "event_type"
        case .label: "label"
        case .word: "word"
        case .words: "words"
        case .boolean: "boolean"
        case .yes: "yes"
        case .whole: "whole"
        case .duration: "duration"
        case .share: "share"
        case .speed: "speed"
        case .timeOfDay: "time_of_day"
        case .wallTime: "wall_time"
        case .timeZone: "time_zone"
        case .jsonpath: "jsonpath"
        case .predicate: "predicate"
        case .names: "names"
        case .object, .keys: "object"
        case .keysOr(_, let other): other.sqlName
        case .list: "list"
        case .named: "named"
        case .providers: "providers"
        }
    }

    fileprivate var sqlRange: ClosedRange<Int64>? {
        switch self {
        case .whole(let range), .duration(let range), .share(let range): range
        case .list(_, let limit): 1...limit
        case .named(_, let limit): 0...limit
        default: nil
        }
    }

    fileprivate var sqlWords: [String]? {
        switch self {
        case .word(let words), .words(let words): words
        case .timeZone(let other): other.map { [$0] }
        case .keysOr(_, let other): other.sqlWords
        default: nil
        }
    }
}
