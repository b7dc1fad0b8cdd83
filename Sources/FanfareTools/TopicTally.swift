public import FanfareCore
internal import FanfareProviders

/// What became of the devices of a change to one of FCM's topics.
public struct TopicTally: Sendable, Equatable {
    /// Subscribed, or no longer.
    public var done = 0
    /// FCM does not know the token any more; a push would disable the device.
    public var gone = 0
    /// FCM refuses, by its word.
    public var refused: [String: Int] = [:]
    /// Google could not serve it, also when asked again.
    public var unserved = 0

    /// Nothing yet.
    public init() {}

    /// Whether every device that is still there has what was asked for.
    public var isComplete: Bool { refused.isEmpty && unserved == 0 }

    /// Adds what became of other devices.
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

    /// The counts for people.
    public var text: String {
        var parts = ["\(done) done"]
        if gone > 0 { parts.append("\(gone) unknown to FCM: their next push disables them") }
        for (word, count) in refused.sorted(by: { $0.key < $1.key }) { parts.append("\(count) refused: \(word)") }
        if unserved > 0 { parts.append("\(unserved) not served: run it again later") }
        return parts.joined(separator: "\n")
    }
}
