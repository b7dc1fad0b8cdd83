/// A topic condition as a tree.
///
/// - Note: `Topic` is the index of a name among the condition's distinct names.
indirect enum ConditionExpression: Equatable, Sendable {
    case topic(Int)
    case not(ConditionExpression)
    case all([ConditionExpression])
    case any([ConditionExpression])

    /// Decides for one device.
    ///
    /// - Parameter isSubscribed: whether the device has the topic of an index.
    /// - Returns: whether the condition holds.
    func evaluate(_ isSubscribed: (Int) -> Bool) -> Bool {
        switch self {
        case .topic(let index): isSubscribed(index)
        case .not(let inner): !inner.evaluate(isSubscribed)
        case .all(let parts): parts.allSatisfy { $0.evaluate(isSubscribed) }
        case .any(let parts): parts.contains { $0.evaluate(isSubscribed) }
        }
    }
}
