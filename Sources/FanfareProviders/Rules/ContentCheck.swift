internal import FanfareCore

/// Whether literals in messages are checked against what providers and phones accept.
///
/// Rules are checked when they are saved. Active rules are not checked again, so that an upgrade with stricter checks
/// does not stop their pushes.
package enum MessageChecks {
    /// False while an active rule is compiled that the current checks would reject.
    @TaskLocal package static var areOn = true
}

/// The values that a provider accepts in one place of a message, checked for literals when the rule is saved and for
/// templates when they are rendered.
enum ContentCheck: Sendable {
    /// `true` or `false`.
    case flag
    /// A number in a range.
    case number(ClosedRange<Double>, isWhole: Bool)
    /// Seconds since 1970; a number as large as milliseconds is rejected.
    case time
    /// A whole number from 0 on, or its digits; sent as a number, or as text.
    case count(isText: Bool)
    /// A string with a given form.
    case form(MessageForm)

    /// The smallest number of seconds that is treated as milliseconds: the year 5138.
    static let milliseconds = 100_000_000_000.0

    /// Converts a value to the provider's type.
    ///
    /// - Parameter value: the result of a template.
    /// - Returns: the value; text that is a number or a boolean is converted. Nil if the provider would reject it.
    func value(_ value: JSONValue) -> JSONValue? {
        switch self {
        case .flag: Self.flag(value)
        case .number(let range, let isWhole): Self.number(value, in: range, isWhole: isWhole)
        case .time: Self.number(value, in: 0...Self.milliseconds.nextDown, isWhole: false)
        case .count(let isText):
            Self.number(value, in: 0...Double(Int64.max).nextDown, isWhole: true)?.numberValue?.integer.map {
                isText ? .string(String($0)) : .number(JSONNumber($0))
            }
        case .form(let form): value.stringValue.map(form.matches) ?? false ? value : Optional.none
        }
    }

    /// Returns whether a literal in a rule is accepted; it must have the right type, since literals are not converted.
    func takes(_ literal: JSONValue) -> Bool {
        switch self {
        case .form, .count: value(literal) != nil
        case .flag, .number, .time: literal.stringValue == nil && value(literal) != nil
        }
    }

    /// Whether the value must be a number.
    var isNumeric: Bool {
        switch self {
        case .number, .time, .count: true
        case .flag, .form: false
        }
    }

    /// The requirement, as it follows `must be`.
    var needed: String {
        switch self {
        case .flag: "true or false"
        case .number(0...1, isWhole: true): "0 or 1"
        case .number(let range, let isWhole):
            (isWhole ? "a whole number" : "a number") + " from \(Self.text(range.lowerBound))"
                + (range.upperBound == .greatestFiniteMagnitude ? " on" : " to \(Self.text(range.upperBound))")
        case .time: "seconds since 1970, not milliseconds"
        case .count: "a whole number from 0 on"
        case .form(let form): form.needed
        }
    }

    private static func flag(_ value: JSONValue) -> JSONValue? {
        switch value {
        case .bool: value
        case .string("true"): .bool(true)
        case .string("false"): .bool(false)
        default: nil
        }
    }

    private static func number(_ value: JSONValue, in range: ClosedRange<Double>, isWhole: Bool) -> JSONValue? {
        let number: JSONNumber?
        switch value {
        case .number(let given): number = given
        case .string(let text): number = (try? JSONValue(parsing: text))?.numberValue
        default: number = nil
        }
        guard let number, let size = Double(number.literal), range.contains(size) else { return nil }
        return isWhole && number.integer == nil ? nil : .number(number)
    }

    private static func text(_ bound: Double) -> String { Int64(exactly: bound).map(String.init) ?? "\(bound)" }
}

/// A template in a place with restricted values.
struct CheckedTemplate: Sendable {
    let template: TextTemplate
    let check: ContentCheck
    /// The path of the template in the rule.
    let path: String

    /// Renders the value.
    ///
    /// - Parameter scope: resolves names.
    /// - Returns: a value that the provider accepts.
    /// - Throws: `RenderProblem` if a name is missing, or the provider would reject its value.
    func value(in scope: TemplateScope) throws(RenderProblem) -> JSONValue {
        let given: JSONValue
        if let variable = template.soleVariable, !check.isText {
            given = try scope.value(of: variable)
        } else {
            given = .string(try template.text(in: scope))
        }
        guard let value = check.value(given) else { throw .wrongValue(path: path, needed: check.needed) }
        return value
    }
}

extension ContentCheck {
    /// Whether the provider requires a string.
    fileprivate var isText: Bool {
        if case .form = self { true } else { false }
    }
}
