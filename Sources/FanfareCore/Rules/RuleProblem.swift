/// Why a rule is refused, with the path.
public struct RuleProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path of keys and indices from the rule's root: `message.apns.headers.apns-id`; empty for the rule itself.
    public let path: String
    /// The error.
    public let reason: String
    /// How to fix it; empty if there is nothing to add.
    public let hint: String

    /// Makes a problem.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - reason: the error.
    ///   - hint: how to fix it.
    public init(path: String, reason: String, hint: String = "") {
        self.path = path
        self.reason = reason
        self.hint = hint
    }

    /// Path, reason and hint, as text for people.
    public var description: String {
        (path.isEmpty ? "" : path + ": ") + reason + (hint.isEmpty ? "" : "; " + hint)
    }

    init(path: String, _ problem: TemplateProblem) {
        self.init(path: path, reason: "\(problem.tag) \(problem.reason)", hint: problem.hint)
    }
}
