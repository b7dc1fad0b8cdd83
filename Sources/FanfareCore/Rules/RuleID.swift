/// The identity of a rule: its app and name.
public struct RuleID: Hashable, Sendable, Comparable {
    /// The app.
    public let app: String
    /// The name, unique within the app.
    public let name: String

    /// Makes an id.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - name: the rule's name.
    public init(app: String, name: String) {
        self.app = app
        self.name = name
    }

    /// Orders by app, then by name.
    public static func < (left: RuleID, right: RuleID) -> Bool {
        (left.app, left.name) < (right.app, right.name)
    }
}
