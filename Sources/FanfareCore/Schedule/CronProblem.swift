/// Why a cron expression is refused.
public struct CronProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The field that is wrong; nil if it is the whole expression.
    public let field: CronField?
    /// What is wrong.
    public let reason: String
    /// How to fix it.
    public let hint: String

    /// A text for people: field, reason and remedy.
    public var description: String { (field.map { "\($0.rawValue): " } ?? "") + reason + "; " + hint }
}
