public import FanfareCore
public import FanfareProviders
internal import PushCrypto

/// A change of the subscribers of one of FCM's own topics.
public struct TopicChange: Sendable {
    /// The rates that Google's quota of 3,000 changes a second and project allows.
    public static let rates = 1...3000

    /// Whether devices join or leave the topic.
    public let operation: FCMTopicOperation
    /// The topic's name, without `/topics/`.
    public let topic: String
    /// Selects the devices.
    public let filter: FCMDeviceFilter
    /// The number of requests a second; below the quota, which other programs may share.
    public var rate = 2500
    /// Whether to begin with the first device, although the same change stopped after a later one.
    public var restarts = false
    /// The waits after failures.
    var pace = FCMTopicPace()
    /// The number of devices after which progress is stored.
    var devicesAtOnce: Int64 = 1000

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - operation: whether devices join or leave the topic.
    ///   - topic: the topic's name.
    ///   - filter: selects the devices.
    /// - Throws: ``ToolError`` if no topic has that name.
    public init(_ operation: FCMTopicOperation, topic: String, of filter: FCMDeviceFilter) throws(ToolError) {
        guard TopicName.isValid(topic) else {
            throw ToolError(
                .usage,
                "no topic has that name",
                hint: "Use 1 to \(TopicName.lengthLimit) letters, digits and - _ . ~ %, without /topics/."
            )
        }
        guard operation.path(project: "", registration: "", topic: topic) != nil else {
            throw ToolError(
                .usage,
                "a topic named \(topic) cannot be changed",
                hint: "Its name is removed from the paths of requests: use another topic."
            )
        }
        (self.operation, self.topic, self.filter) = (operation, topic, filter)
    }

    /// Returns the hash of what, besides operation and topic, the progress of a change belongs to.
    ///
    /// - Parameter place: endpoint and project.
    /// - Returns: the hash.
    func fingerprint(_ place: String) -> [UInt8] {
        let selection: JSONValue = [
            "place": .string(place),
            "subscribers_of": filter.topic.map(JSONValue.string) ?? .null,
            "users": filter.users.map { .array(Set($0).sorted().map(JSONValue.string)) } ?? .null,
        ]
        return sha256(selection.encoded)
    }
}

/// What a change of subscriptions reports while it runs.
public enum TopicNews: Sendable {
    /// The same change stopped before, after this many devices, and continues there.
    case continued(devices: Int64)
    /// This many devices are left.
    case counted(left: Int64)
    /// FCM's quota is exhausted: the job waits.
    case held(seconds: Int64)
    /// The numbers of devices so far, including those of earlier attempts.
    case progress(devices: Int64, refused: Int64)
}

/// The result of a change of subscriptions.
public struct TopicReport: Sendable {
    /// The counts of all devices, including those of earlier attempts.
    public internal(set) var tally = TopicTally()
    /// Whether the change was stopped before its end.
    public internal(set) var isStopped = false
}
