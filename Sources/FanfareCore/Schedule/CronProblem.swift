/// Why a cron expression is refused.
public struct CronProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The invalid field; nil for the whole expression.
    public let field: CronField?
    /// The error.
    public let reason: String
    /// How to fix it.
    public let hint: String

    /// Field, reason and hint, as text for people.
    public var description: String { (field.map { "\($0.rawValue): " } ?? "") + reason + "; " + hint }
}
