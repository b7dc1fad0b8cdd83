public import FanfareCore

/// One finding of `fanfare check`.
public struct CheckItem: Sendable, Equatable {
    /// The severity of a finding.
    public enum Level: String, Sendable, CaseIterable {
        /// No problem.
        case ok
        /// It works, but should be checked by an operator.
        case warn
        /// A daemon does not work in this state.
        case fail
    }

    /// The severity.
    public let level: Level
    /// The object of the check.
    public let name: String
    /// The finding; holds no secret.
    public let detail: String
    /// The advice; empty if there is none.
    public let advice: String

    /// Makes an item.
    ///
    /// - Parameters:
    ///   - level: the severity.
    ///   - name: the object of the check.
    ///   - detail: the finding; no secret.
    ///   - advice: the advice; empty if there is none.
    package init(_ level: Level, _ name: String, _ detail: String, advice: String = "") {
        self.level = level
        self.name = name
        self.detail = detail
        self.advice = advice
    }

    /// The item as JSON.
    public var json: JSONValue {
        ["level": .string(level.rawValue), "name": .string(name), "detail": .string(detail), "advice": .string(advice)]
    }
}
