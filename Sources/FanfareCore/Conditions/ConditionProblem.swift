/// Why a topic condition is refused.
public struct ConditionProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The position in the condition, in characters from 1.
    public let column: Int
    /// The error at that position.
    public let reason: String
    /// How to fix it.
    public let hint: String

    /// Position, reason and hint, as text for people.
    public var description: String { "column \(column): \(reason); \(hint)" }
}
