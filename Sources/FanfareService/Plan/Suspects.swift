internal import FanfareCore
internal import FanfareStore

/// Payload sizes from which events are suspected to make planning slow, per type: a jsonpath takes longest on large
/// ones.
///
/// Suspects are planned one by one, apart from the other events, so that further ones do not stop planning again.
/// Suspicion expires, since most large payloads are harmless.
struct Suspects: Equatable {
    /// How long suspicion lasts after planning last took too long.
    private static let memory = Micros.minute
    /// The smallest payload that is suspected, in bytes as stored; 60,000 times the same letter are stored in 700.
    private static let least: Int32 = 512
    /// The multiple of the median size of a set from which a payload stands out.
    private static let prominence: Int64 = 4
    private static let mostTypes = 100

    /// The size from which payloads are suspected, by type.
    private(set) var sizes: [String: Int32] = [:]
    private var until: Microseconds = .min

    /// Evaluates a set whose planning took too long.
    ///
    /// - Parameters:
    ///   - set: the events of the set.
    ///   - now: steady time.
    /// - Returns: whether more events are suspected than before.
    mutating func learn(from set: [OutboxSize], at now: Microseconds) -> Bool {
        let sorted = set.map(\.size).sorted()
        guard let middle = sorted.dropFirst(sorted.count / 2).first else { return false }
        let limit = max(Self.least, Int32(clamping: Int64(middle) * Self.prominence))
        return suspect(set.filter { $0.size >= limit && sorted.count > 1 }, from: limit, at: now)
    }

    /// Evaluates a single event whose planning took too long.
    ///
    /// - Parameters:
    ///   - culprit: the event.
    ///   - now: steady time.
    /// - Returns: whether more events are suspected than before.
    mutating func learn(fromLone culprit: OutboxSize, at now: Microseconds) -> Bool {
        suspect([culprit].filter { $0.size >= Self.least }, from: max(Self.least, culprit.size / 2), at: now)
    }

    /// Removes the suspicion once it has expired.
    ///
    /// - Returns: whether there was any.
    mutating func forget(at now: Microseconds) -> Bool {
        guard !sizes.isEmpty, now >= until else { return false }
        sizes = [:]
        return true
    }

    private mutating func suspect(_ events: [OutboxSize], from size: Int32, at now: Microseconds) -> Bool {
        let before = sizes
        for event in events where sizes[event.type] != nil || sizes.count < Self.mostTypes {
            sizes[event.type] = min(sizes[event.type] ?? .max, size)
        }
        if !events.isEmpty { until = now + Self.memory }
        return sizes != before
    }
}
