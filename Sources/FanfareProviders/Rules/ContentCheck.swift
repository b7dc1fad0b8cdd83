internal import FanfareCore

/// Whether literals in messages are compared with what providers and phones take.
///
/// Rules are when they are put. One that is in force already goes on as it is: an upgrade that knows more must not stop its pushes.
package enum MessageChecks {
    /// False while a rule in force is compiled that would not be taken now.
    @TaskLocal package static var areOn = true
}

/// What a provider takes in one place of a message, checked for literals when the rule is put and for templates when they are
/// rendered.
enum ContentCheck: Sendable {
    /// `true` or `false`.
    case flag
    /// A number in a range.
    case number(ClosedRange<Double>, isWhole: Bool)
    /// Seconds since 1970; a number as large as milliseconds is refused.
    case time
    /// A string of one form.
    case form(MessageForm)

    /// From here on a number of seconds is taken for milliseconds: the year 5138.
    static let milliseconds = 100_000_000_000.0

    /// Makes the value what the provider takes.
    ///
    /// - Parameter value: what a template gave.
    /// - Returns: the value; text that is a number or a truth value becomes one. Nil if the provider would not take it.
    func value(_ value: JSONValue) -> JSONValue? {
        switch self {
        case .flag: Self.flag(value)
        case .number(let range, let isWhole): Self.number(value, in: range, isWhole: isWhole)
        case .time: Self.number(value, in: 0...Self.milliseconds.nextDown, isWhole: false)
        case .form(let form): value.stringValue.map(form.matches) ?? false ? value : Optional.none
        }
    }

    /// Whether a literal in a rule is such a value: of its type, not text that could become one.
    func takes(_ literal: JSONValue) -> Bool {
        switch self {
        case .form: value(literal) != nil
        case .flag, .number, .time: literal.stringValue == nil && value(literal) != nil
        }
    }

    /// Whether a number is needed.
    var isNumeric: Bool {
        switch self {
        case .number, .time: true
        case .flag, .form: false
        }
    }

    /// What is needed, behind `must be`.
    var needed: String {
        switch self {
        case .flag: "true or false"
        case .number(0...1, isWhole: true): "0 or 1"
        case .number(let range, let isWhole):
            (isWhole ? "a whole number" : "a number") + " from \(Self.text(range.lowerBound))"
                + (range.upperBound == .greatestFiniteMagnitude ? " on" : " to \(Self.text(range.upperBound))")
        case .time: "seconds since 1970, not milliseconds"
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

/// A template in a place that takes some values only.
struct CheckedTemplate: Sendable {
    let template: TextTemplate
    let check: ContentCheck
    /// Where it stands in the rule.
    let path: String

    /// Renders the value.
    ///
    /// - Parameter scope: where names are looked up.
    /// - Returns: a value that the provider takes.
    /// - Throws: `RenderProblem` if a name is missing, or the provider would not take what it stands for.
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
    /// Whether the provider wants a string.
    fileprivate var isText: Bool {
        if case .form = self { true } else { false }
    }
}
