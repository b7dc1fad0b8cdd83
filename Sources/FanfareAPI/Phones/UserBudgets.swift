internal import PushTransport
internal import Threading

/// Rate limits for the users of recent requests.
///
/// Users are kept in two generations: when the younger is full, it replaces the older, whose users are forgotten. A
/// forgotten user starts with a full budget, but that takes as many other users as a generation holds, each with a
/// token signed by the app.
final class UserBudgets: Sendable {
    /// How many users a generation holds.
    static let generation = 10_000

    /// The smallest burst: the requests of an app at its start, such as registering and subscribing to some topics.
    static let burst = 20

    private struct Generations {
        var young: [UInt64: TokenBucket] = [:]
        var old: [UInt64: TokenBucket] = [:]
    }

    private let rate: Int
    private let generations = Locked(Generations())

    /// Creates full budgets for all users.
    ///
    /// - Parameter rate: requests a second of one user.
    init(_ rate: Int) { self.rate = rate }

    /// The number of users kept; at most two generations.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    /// Takes one request from a user's budget.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - now: the time.
    /// - Returns: whether one was left.
    func take(_ user: String, now: MonotonicTime = Clocks.steady * 1000) -> Bool {
        let key = Self.key(user)
        return generations.withLock { generations in
            if generations.young[key] == nil {
                if generations.young.count >= Self.generation {
                    (generations.old, generations.young) = (generations.young, [:])
                }
                let full = TokenBucket(burst: max(rate, Self.burst), interval: 1_000_000_000 / Int64(rate), now: now)
                generations.young[key] = generations.old.removeValue(forKey: key) ?? full
            }
            return generations.young[key]?.take(now: now) ?? false
        }
    }

    /// Hashes an id with the process's random seed, so that two ids that share a budget cannot be found in advance.
    private static func key(_ user: String) -> UInt64 {
        var hasher = Hasher()
        for byte in user.utf8 { hasher.combine(byte) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
