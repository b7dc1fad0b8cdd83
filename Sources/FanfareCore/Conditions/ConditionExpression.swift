/// A topic condition as a tree; topics are indices among the condition's distinct names.
indirect enum ConditionExpression: Equatable, Sendable {
    case topic(Int)
    case not(ConditionExpression)
    case all([ConditionExpression])
    case any([ConditionExpression])
}

extension ConditionExpression {
    /// The expression in FCM's grammar.
    ///
    /// - Parameter names: the topics' names, by index.
    /// - Returns: the condition, with parentheses around every group inside another.
    func text(_ names: [String]) -> String {
        switch self {
        case .topic(let index): "'\(names[index])' in topics"
        case .not(let inner): "!(\(inner.text(names)))"
        case .all(let parts): Self.joined(parts, " && ", names)
        case .any(let parts): Self.joined(parts, " || ", names)
        }
    }

    private static func joined(_ parts: [ConditionExpression], _ connective: String, _ names: [String]) -> String {
        parts.map { part in
            switch part {
            case .topic, .not: part.text(names)
            case .all, .any: "(\(part.text(names)))"
            }
        }
        .joined(separator: connective)
    }
}
