internal import FanfareCore
internal import PushTransport
internal import Threading

/// What a breaker holds back.
enum BreakerScope: Hashable, Sendable {
    /// All that goes to a provider with one endpoint.
    case provider
    /// What goes to one of many Web Push services.
    case origin(Endpoint)
    /// What is for an APNs topic that the provider refused.
    case topic(String)
}

/// The breakers of one pool: one, or for Web Push one for each service, so that a service that fails stops only itself; and
/// one for each topic that was refused, so that a rule that names a wrong one stops no other.
final class Breakers: Sendable {
    /// Origins come from strangers: of so many breakers those that are closed are forgotten.
    private static let limit = 1000

    private let all = Locked<[BreakerScope: Breaker]>([:])

    /// Whether requests may be sent now.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - now: steady time.
    /// - Returns: all, a single probe, or nothing.
    func admit(_ scope: BreakerScope, at now: Microseconds) -> Breaker.Admission {
        all.withLock { all in
            guard all[scope] != nil else { return .all }
            return all[scope, default: Breaker()].admit(at: now)
        }
    }

    /// Tells a breaker something.
    func update(_ scope: BreakerScope, _ body: (inout Breaker) -> Void) {
        all.withLock { all in
            if all.count >= Self.limit { all = all.filter { !$0.value.isClosed } }
            body(&all[scope, default: Breaker()])
            if case .topic = scope, all[scope]?.isClosed == true { all[scope] = nil }
        }
    }

    /// Keeps everything back but probes, since the provider refused the sender or the topic.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - now: steady time.
    /// - Returns: whether requests were let through until now.
    @discardableResult
    func refused(_ scope: BreakerScope, at now: Microseconds) -> Bool {
        shut(scope) { $0.refused(at: now) }
    }

    /// Keeps everything back that goes there, since the provider asked for it.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - wait: how long.
    ///   - now: steady time.
    /// - Returns: whether requests were let through until now.
    func hold(_ scope: BreakerScope, for wait: Microseconds, at now: Microseconds) -> Bool {
        shut(scope) { $0.hold(for: wait, at: now) }
    }

    /// A connection could not be opened.
    ///
    /// - Parameter scope: where to.
    /// - Returns: whether requests were let through until now, and only one at a time are from now on.
    func connectFailed(_ scope: BreakerScope) -> Bool {
        var isNew = false
        update(scope) { breaker in
            let wasClosed = breaker.isClosed
            breaker.connectFailed()
            isNew = wasClosed && !breaker.isClosed
        }
        return isNew
    }

    /// - Returns: whether requests were let through until now.
    private func shut(_ scope: BreakerScope, _ body: (inout Breaker) -> Void) -> Bool {
        var isNew = false
        update(scope) { breaker in
            isNew = breaker.isClosed
            body(&breaker)
        }
        return isNew
    }

    /// Whether a provider or a service keeps requests back.
    var isAnyOpen: Bool { all.withLock { all in all.contains { !$0.key.isTopic && !$0.value.isClosed } } }

    /// Whether any topic was refused, and its pushes are held back.
    var isAnyTopicRefused: Bool { all.withLock { all in all.keys.contains(where: \.isTopic) } }
}

extension BreakerScope {
    fileprivate var isTopic: Bool {
        if case .topic = self { return true }
        return false
    }
}

extension Breaker {
    fileprivate var isClosed: Bool {
        if case .closed = state { return true }
        return false
    }
}
