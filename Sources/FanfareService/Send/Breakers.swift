internal import FanfareCore
internal import PushTransport
internal import Threading

/// The breakers of one pool: one, or for Web Push one for each service, so that a service that fails stops only itself.
final class Breakers: Sendable {
    /// Origins come from strangers: of so many breakers those that are closed are forgotten.
    private static let limit = 1000

    private let all = Locked<[Endpoint?: Breaker]>([:])

    /// Whether requests may be sent now.
    ///
    /// - Parameters:
    ///   - origin: where; nil for the pool's one endpoint.
    ///   - now: steady time.
    /// - Returns: all, a single probe, or nothing.
    func admit(_ origin: Endpoint?, at now: Microseconds) -> Breaker.Admission {
        all.withLock { all in
            guard all[origin] != nil else { return .all }
            return all[origin, default: Breaker()].admit(at: now)
        }
    }

    /// Tells a breaker something.
    func update(_ origin: Endpoint?, _ body: (inout Breaker) -> Void) {
        all.withLock { all in
            if all.count >= Self.limit { all = all.filter { !$0.value.isClosed } }
            body(&all[origin, default: Breaker()])
        }
    }

    /// Keeps everything back that goes there, since the provider asked for it.
    ///
    /// - Parameters:
    ///   - origin: where; nil for the pool's one endpoint.
    ///   - wait: how long.
    ///   - now: steady time.
    /// - Returns: whether requests were let through until now.
    func hold(_ origin: Endpoint?, for wait: Microseconds, at now: Microseconds) -> Bool {
        var isNew = false
        update(origin) { breaker in
            isNew = breaker.isClosed
            breaker.hold(for: wait, at: now)
        }
        return isNew
    }

    /// Whether any of them keeps requests back.
    var isAnyOpen: Bool { all.withLock { all in all.values.contains { !$0.isClosed } } }
}

extension Breaker {
    fileprivate var isClosed: Bool {
        if case .closed = state { return true }
        return false
    }
}
