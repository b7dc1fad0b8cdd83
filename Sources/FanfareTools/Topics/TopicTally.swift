public import FanfareCore

/// The counts of a change of FCM topic subscriptions.
public struct TopicTally: Sendable, Equatable {
    /// Devices that were subscribed or unsubscribed, or had been so before.
    public internal(set) var done: Int64 = 0
    /// Devices that are unregistered at FCM; a push would disable them.
    public internal(set) var gone: Int64 = 0
    /// Devices that FCM refused, by its error code.
    public internal(set) var refused: [String: Int64] = [:]
    /// Devices that FCM could not serve, even after repeats.
    public internal(set) var unserved: Int64 = 0
    /// Requests that were repeated, because FCM could not serve them or did not answer.
    public internal(set) var repeated: Int64 = 0

    /// The number of codes that are counted one by one.
    private static let codeLimit = 30
    /// The largest count that is read back, which leaves room for sums.
    private static let largest: Int64 = 1 << 53

    /// Makes an empty tally.
    public init() {}

    /// Continues a stored tally.
    ///
    /// - Parameter json: the stored ``json``; members that it lacks count as 0.
    init(_ json: JSONValue) {
        for (name, path) in Self.numbers { self[keyPath: path] = Self.count(json[name]) }
        for member in (json["refused"]?.objectValue?.members ?? []).prefix(Self.codeLimit + 1) {
            refused[member.key] = Self.count(member.value)
        }
    }

    /// The number of devices.
    public var devices: Int64 { done + gone + unserved + refusedCount }

    /// The number of devices that FCM refused.
    public var refusedCount: Int64 { refused.values.reduce(0, +) }

    /// Whether the change succeeded for every registered device.
    public var isComplete: Bool { refused.isEmpty && unserved == 0 }

    /// Adds the counts of other devices.
    public static func += (tally: inout TopicTally, other: TopicTally) {
        for (_, path) in numbers { tally[keyPath: path] += other[keyPath: path] }
        for (code, count) in other.refused { tally.refuse(code, count) }
    }

    /// Counts refused devices.
    mutating func refuse(_ code: String, _ count: Int64 = 1) {
        let isKept = refused[code] != nil || refused.count < Self.codeLimit
        refused[isKept ? code : "other codes", default: 0] += count
    }

    /// The counts as JSON.
    public var json: JSONValue {
        var codes = JSONObject()
        for (code, count) in refused.sorted(by: { $0.key < $1.key }) { codes[code] = JSONValue(count) }
        return [
            "done": JSONValue(done), "gone": JSONValue(gone), "refused": .object(codes),
            "unserved": JSONValue(unserved),
            "repeated": JSONValue(repeated),
        ]
    }

    private static var numbers: [(String, WritableKeyPath<TopicTally, Int64>)] {
        [("done", \.done), ("gone", \.gone), ("unserved", \.unserved), ("repeated", \.repeated)]
    }

    private static func count(_ json: JSONValue?) -> Int64 {
        min(max(json?.numberValue?.integer ?? 0, 0), largest)
    }
}
