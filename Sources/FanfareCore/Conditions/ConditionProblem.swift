/// Why a topic condition is refused.
public struct ConditionProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where in the condition, in characters from 1.
    public let column: Int
    /// What is wrong there.
    public let reason: String
    /// How to fix it.
    public let hint: String

    /// A text for people: place, reason and remedy.
    public var description: String { "column \(column): \(reason); \(hint)" }
}
