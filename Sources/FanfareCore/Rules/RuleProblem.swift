/// Why a rule is refused, and where in it.
public struct RuleProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The place, as keys and indices from the rule's root: `message.apns.headers.apns-id`; empty for the rule itself.
    public let path: String
    /// What is wrong.
    public let reason: String
    /// How to fix it; empty if there is nothing to add.
    public let hint: String

    /// Describes a problem.
    ///
    /// - Parameters:
    ///   - path: the place.
    ///   - reason: what is wrong.
    ///   - hint: how to fix it.
    public init(path: String, reason: String, hint: String = "") {
        self.path = path
        self.reason = reason
        self.hint = hint
    }

    /// A text for people: place, reason and remedy.
    public var description: String {
        (path.isEmpty ? "" : path + ": ") + reason + (hint.isEmpty ? "" : "; " + hint)
    }

    init(path: String, _ problem: TemplateProblem) {
        self.init(path: path, reason: "\(problem.tag) \(problem.reason)", hint: problem.hint)
    }
}
