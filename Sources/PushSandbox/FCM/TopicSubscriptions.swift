import Threading

/// Which registration is subscribed to which of FCM's topics.
///
/// Registrations without topics are not stored. If there are too many subscriptions, the registration that has had one
/// for the longest time loses all of its own.
final class TopicSubscriptions: Sendable {
    /// A subscription.
    struct Subscription {
        let topic: String
        /// Its time in microseconds since 1970.
        let createdAt: Int64
    }

    /// The largest number of topics of a registration.
    let mostTopics: Int
    /// The largest number of subscriptions of all registrations.
    private static let most = 2_000_000

    private struct State {
        var topics: [String: [Subscription]] = [:]
        /// The registrations in the order in which they got their first topic; some have none any more.
        var order: [String] = []
        var firstInOrder = 0
        var count = 0
        let most: Int
    }

    private let state: Locked<State>

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - mostTopics: the largest number of topics of a registration.
    ///   - most: the largest number of subscriptions.
    init(mostTopics: Int, most: Int = most) {
        self.mostTopics = mostTopics
        state = Locked(State(most: most))
    }

    /// Returns the subscriptions of a registration, oldest first.
    func all(of registration: String) -> [Subscription] {
        state.withLock { $0.topics[registration] ?? [] }
    }

    /// Returns a subscription; nil if there is none.
    func find(_ registration: String, _ topic: String) -> Subscription? {
        all(of: registration).first { $0.topic == topic }
    }

    /// Adds a subscription, unless the registration has it or has too many.
    func add(_ registration: String, _ subscription: Subscription) {
        state.withLock { state in
            var topics = state.topics[registration] ?? []
            guard topics.count < mostTopics, !topics.contains(where: { $0.topic == subscription.topic }) else {
                return
            }
            if topics.isEmpty { state.order.append(registration) }
            topics.append(subscription)
            state.topics[registration] = topics
            state.count += 1
            Self.dropOldest(&state, except: registration)
        }
    }

    /// Removes a subscription if there is one.
    func remove(_ registration: String, _ topic: String) {
        state.withLock { state in
            guard var topics = state.topics[registration], let index = topics.firstIndex(where: { $0.topic == topic })
            else { return }
            topics.remove(at: index)
            state.topics[registration] = topics.isEmpty ? nil : topics
            state.count -= 1
        }
    }

    private static func dropOldest(_ state: inout State, except kept: String) {
        while state.count > state.most, state.firstInOrder < state.order.count {
            let oldest = state.order[state.firstInOrder]
            guard oldest != kept else { break }
            state.firstInOrder += 1
            state.count -= state.topics.removeValue(forKey: oldest)?.count ?? 0
        }
        // Keeps the list from growing with each registration that comes and goes.
        guard state.firstInOrder > 1024 || state.order.count > 2 * state.most else { return }
        var seen: Set<String> = []
        let rest = state.order[state.firstInOrder...]
        state.order = rest.filter { state.topics[$0] != nil && seen.insert($0).inserted }
        state.firstInOrder = 0
    }
}

/// FCM's limit of changes to topics per second and project; off by default.
final class TopicQuota: Sendable {
    private let limit: Int?
    private let window = Locked<(second: Int64, used: Int)>((-1, 0))

    /// Creates a full bucket.
    ///
    /// - Parameter limit: changes per second; nil for no limit.
    init(_ limit: Int?) {
        self.limit = limit
    }

    /// Counts a change.
    ///
    /// - Parameter now: the wall clock, in seconds since 1970.
    /// - Returns: whether it is within the limit.
    func take(now: Int64) -> Bool {
        guard let limit else { return true }
        return window.withLock { window in
            if window.second != now { window = (now, 0) }
            window.used += 1
            return window.used <= limit
        }
    }
}
