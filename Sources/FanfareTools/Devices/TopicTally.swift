public import FanfareCore
internal import FanfareProviders

/// The counts of a change of FCM topic subscriptions.
public struct TopicTally: Sendable, Equatable {
    /// Tokens that were subscribed or unsubscribed.
    public var done = 0
    /// Tokens that are unregistered at FCM; a push would disable the device.
    public var gone = 0
    /// Tokens that FCM refused, by its error code.
    public var refused: [String: Int] = [:]
    /// Tokens that Google could not serve, even after repeats.
    public var unserved = 0

    /// Makes an empty tally.
    public init() {}

    /// Whether the change succeeded for every registered token.
    public var isComplete: Bool { refused.isEmpty && unserved == 0 }

    /// Adds the counts of other devices.
    public static func += (tally: inout TopicTally, other: TopicTally) {
        tally.done += other.done
        tally.gone += other.gone
        tally.unserved += other.unserved
        tally.refused.merge(other.refused, uniquingKeysWith: +)
    }

    mutating func count(_ result: FCMTopicResult) {
        switch result {
        case .done: done += 1
        case .dead: gone += 1
        case .tooManyTopics: refused["TOO_MANY_TOPICS", default: 0] += 1
        case .otherProject: refused["PERMISSION_DENIED", default: 0] += 1
        case .refused(let word): refused[word, default: 0] += 1
        case .retry: break
        }
    }

    /// The counts as JSON.
    public var json: JSONValue {
        var words = JSONObject()
        for (word, count) in refused.sorted(by: { $0.key < $1.key }) { words[word] = JSONValue(Int64(count)) }
        return [
            "done": JSONValue(Int64(done)), "gone": JSONValue(Int64(gone)), "refused": .object(words),
            "unserved": JSONValue(Int64(unserved)),
        ]
    }
}
