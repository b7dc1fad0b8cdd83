/// Names a rule.
public struct RuleID: Hashable, Sendable, Comparable {
    /// Its app.
    public let app: String
    /// Its name, unique in its app.
    public let name: String

    /// Names a rule.
    ///
    /// - Parameters:
    ///   - app: its app.
    ///   - name: its name there.
    public init(app: String, name: String) {
        self.app = app
        self.name = name
    }

    /// In the order of apps, then of names.
    public static func < (left: RuleID, right: RuleID) -> Bool {
        (left.app, left.name) < (right.app, right.name)
    }
}
