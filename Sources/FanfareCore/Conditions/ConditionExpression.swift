/// A topic condition as a tree; topics are indices among the condition's distinct names.
indirect enum ConditionExpression: Equatable, Sendable {
    case topic(Int)
    case not(ConditionExpression)
    case all([ConditionExpression])
    case any([ConditionExpression])
}
