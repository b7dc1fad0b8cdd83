/// The form of a key's value.
///
/// `fanfare.value_error` checks the same forms in SQL. There, `jsonpath`, `predicate` and `timeZone` are checked further.
package indirect enum DefinitionForm: Sendable {
    // Any string; the three differ only in the documentation.
    case string, sql, template
    /// A template that is not empty.
    case filledTemplate
    /// A string that is not empty.
    case text
    /// An id, a string or a number, or a list of ids.
    case ids
    case appName, ruleName, eventType, label
    /// One of some words.
    case word([String])
    /// One of some words, or a list of at least one of them.
    case words([String])
    case boolean
    /// The literal `true`.
    case yes
    /// A whole number.
    case whole(ClosedRange<Int64>)
    /// A duration of so many seconds.
    case duration(ClosedRange<Int64>)
    /// A share in millionths.
    case share(ClosedRange<Int64>)
    /// Pushes a second, such as `500/s`.
    case speed
    /// A time such as `22:00`.
    case timeOfDay
    /// A date with a time, such as `2026-12-01T09:00`.
    case wallTime
    /// The name of a time zone, or another word.
    case timeZone(or: String?)
    /// A jsonpath that returns values.
    case jsonpath
    /// A jsonpath that is true or false.
    case predicate
    /// A list of strings.
    case names
    /// An object with any keys.
    case object
    /// An object with fixed keys.
    case keys(DefinitionObject)
    /// An object with fixed keys, or a value of another form.
    case keysOr(DefinitionObject, DefinitionForm)
    /// A list of at most so many objects, at least one.
    case list(DefinitionObject, limit: Int64)
    /// An object of at most so many objects, each under a name that the author chooses.
    case named(DefinitionObject, limit: Int64)
    /// An object of objects, each under the name of a provider.
    case providers(DefinitionObject)
}

extension DefinitionForm {
    /// The object that describes its keys, if it has any.
    package var object: DefinitionObject? {
        switch self {
        case .keys(let object), .keysOr(let object, _), .list(let object, _), .named(let object, _),
            .providers(let object):
            object
        default: nil
        }
    }

    /// The name of the type, for the reference.
    var typeName: String {
        switch self {
        case .string, .text, .appName, .ruleName, .eventType, .label, .word, .share, .speed, .timeOfDay, .wallTime,
            .timeZone:
            "string"
        case .ids, .words: "string or list of strings"
        case .sql: "SQL"
        case .template, .filledTemplate: "template"
        case .boolean, .yes: "boolean"
        case .whole: "number"
        case .duration: "duration"
        case .jsonpath: "jsonpath"
        case .predicate: "jsonpath predicate"
        case .names: "list of strings"
        case .object, .keys, .named, .providers: "object"
        case .keysOr(_, let other): "object or \(other.typeName)"
        case .list: "list of objects"
        }
    }

    /// The allowed values, for the reference; nil if the type suffices.
    var rangeText: String? {
        switch self {
        case .appName: "1 to 64 letters, digits, dashes and underscores"
        case .ruleName: "1 to 100 letters, digits, dots, dashes and underscores"
        case .label: "1 to 64 letters, digits, dots, dashes and underscores"
        case .eventType: "1 to \(RuleNames.eventTypeLimit) bytes on one line"
        case .word(let words), .words(let words): words.joined(separator: " | ")
        case .yes: "true"
        case .whole(let range): "whole, \(range.lowerBound)–\(range.upperBound)"
        case .duration(let range):
            "\(TimeSpan(seconds: range.lowerBound))–\(range == Self.anyDuration ? "\(TimeSpan.limit)" : Self.end(range))"
        case .share(let range): (range.lowerBound == 0 ? "0%–" : "above 0% to ") + Self.percent(range.upperBound)
        case .speed: "1/s to \(Self.speeds.upperBound)/s"
        case .timeOfDay: "00:00 to 23:59"
        case .wallTime: "such as 2026-12-01T09:00"
        case .timeZone(let other):
            "a name that PostgreSQL knows, such as Europe/Madrid" + (other.map { ", or \($0)" } ?? "")
        case .list(_, let limit): "1 to \(limit)"
        case .named(_, let limit): "at most \(limit)"
        case .string, .sql, .template, .filledTemplate, .text, .ids, .boolean, .jsonpath, .predicate, .names, .object,
            .keys, .keysOr, .providers:
            nil
        }
    }

    /// What is said about any other value.
    var reason: String {
        switch self {
        case .string, .sql, .template, .jsonpath, .predicate, .timeZone: Self.noString
        case .filledTemplate, .text: "is empty"
        case .ids: "is neither an id nor a list of ids"
        case .appName, .ruleName, .eventType, .label: "cannot be a name"
        case .word: "is not one of its values"
        case .words: "is neither one of its values nor a list of them"
        case .boolean: "is neither true nor false"
        case .yes: "is not true"
        case .whole(let range): "is not a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .duration(Self.anyDuration): "is not a duration"
        case .duration(let range): "is not a duration from \(TimeSpan(seconds: range.lowerBound)) to \(Self.end(range))"
        case .share(let range):
            "is not a share from \(range.lowerBound == 0 ? "" : "above ")0% to \(Self.percent(range.upperBound))"
        case .speed: "is not a rate"
        case .timeOfDay, .wallTime: "is not a time of day"
        case .names: "is not a list of names"
        case .object, .keys, .named, .providers: "is not an object"
        case .keysOr(_, .speed): "is not a rate"
        case .keysOr(_, let other): "is not an object, and \(other.reason)"
        case .list: "is not a list"
        }
    }

    /// How to write the value, if the key has no hint of its own.
    var hint: String {
        switch self {
        case .string, .sql, .template, .filledTemplate, .text, .jsonpath, .predicate, .timeZone: "a string is needed"
        case .ids: "write a string, or a list of strings"
        case .appName: RuleNames.appHint
        case .ruleName: RuleNames.ruleHint
        case .eventType: RuleNames.eventTypeHint
        case .label: RuleNames.labelHint
        case .word(let words), .words(let words): "known are \(words.joined(separator: ", "))"
        case .boolean: "write true or false"
        case .yes: "write true"
        case .whole(let range): "write a number such as \(range.upperBound)"
        case .duration: TimeSpan.hint
        case .share: "write a share such as 5% or 0.5%"
        case .speed: "write how many pushes a second, as in 500/s"
        case .timeOfDay: "write what clocks show, from 00:00 to 23:59, as in \"22:00\""
        case .wallTime: "write what clocks in time_zone show, as in 2026-12-01T09:00"
        case .names: "write a list of strings"
        case .object, .keys, .keysOr, .list, .named, .providers: "an object is needed"
        }
    }

    static let noString = "is not a string"
    package static let anyDuration: ClosedRange<Int64> = 1...TimeSpan.limit.seconds
    static let speeds: ClosedRange<Int64> = 1...1_000_000

    private static func end(_ range: ClosedRange<Int64>) -> String {
        range.upperBound == 86_400 ? "24h" : TimeSpan(seconds: range.upperBound).description
    }

    private static func percent(_ perMillion: Int64) -> String { "\(perMillion / 10_000)%" }
}
