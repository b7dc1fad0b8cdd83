internal import PushTransport
internal import Threading

/// How many requests each user may still make, of those who asked lately.
///
/// Of two generations: when the younger is full it becomes the older, which goes. Who is forgotten so begins with a full budget; that takes as
/// many other users as a generation holds, each with a token that the app signed.
final class UserBudgets: Sendable {
    /// How many users a generation holds.
    static let generation = 10_000

    /// How many requests may come at once: what an app does when it starts, as to register and to follow some topics.
    static let burst = 20

    private struct Generations {
        var young: [UInt64: TokenBucket] = [:]
        var old: [UInt64: TokenBucket] = [:]
    }

    private let rate: Int
    private let generations = Locked(Generations())

    /// Full ones for everybody.
    ///
    /// - Parameter rate: requests a second of one user.
    init(_ rate: Int) { self.rate = rate }

    /// How many users are remembered; at most two generations.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    /// Takes a request off a user's.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - now: the time.
    /// - Returns: whether there was one left.
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

    /// Seeded anew in each process: nobody finds two ids that share a budget.
    private static func key(_ user: String) -> UInt64 {
        var hasher = Hasher()
        for byte in user.utf8 { hasher.combine(byte) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
