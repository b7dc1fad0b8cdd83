internal import FanfareCore
internal import FanfareStore

/// Payloads that stand out by their size where planning took too long: what a jsonpath takes longest for is large.
///
/// They are planned one by one, beside the others, so that each further bomb does not stop planning until it is found out.
/// Suspicion passes, since most of them are harmless.
struct Suspects: Equatable {
    /// How long nothing is suspected any more after the last time that planning took too long.
    private static let memory = Micros.minute
    /// No payload below this is suspected, in bytes as stored: 60,000 times the same letter have 700.
    private static let least: Int32 = 512
    /// How many times as large as the middle one of its set a payload stands out.
    private static let prominence: Int64 = 4
    private static let mostTypes = 100

    /// From which size on, by type.
    private(set) var sizes: [String: Int32] = [:]
    private var until: Microseconds = .min

    /// Takes a set of which planning took too long.
    ///
    /// - Parameters:
    ///   - set: its events.
    ///   - now: steady time.
    /// - Returns: whether some of them are suspected that were not before.
    mutating func learn(from set: [OutboxSize], at now: Microseconds) -> Bool {
        let sorted = set.map(\.size).sorted()
        guard let middle = sorted.dropFirst(sorted.count / 2).first else { return false }
        let limit = max(Self.least, Int32(clamping: Int64(middle) * Self.prominence))
        return suspect(set.filter { $0.size >= limit && sorted.count > 1 }, from: limit, at: now)
    }

    /// Takes an event that alone took too long.
    ///
    /// - Parameters:
    ///   - culprit: the event.
    ///   - now: steady time.
    /// - Returns: whether others like it are suspected that were not before.
    mutating func learn(fromLone culprit: OutboxSize, at now: Microseconds) -> Bool {
        suspect([culprit].filter { $0.size >= Self.least }, from: max(Self.least, culprit.size / 2), at: now)
    }

    /// Forgets what is long ago.
    ///
    /// - Returns: whether there was something.
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
