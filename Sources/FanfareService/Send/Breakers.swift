internal import FanfareCore
internal import FanfareProviders
internal import PushTransport
internal import Threading

/// The breakers of one pool: one, or where recipients name their own hosts one for each, so that a service that fails stops only itself; and
/// one for each topic that was refused, so that a rule that names a wrong one stops no other.
final class Breakers: Sendable {
    /// Origins come from strangers: of so many breakers those that are closed are forgotten.
    private static let limit = 1000

    private struct State {
        var all: [BreakerScope: Breaker] = [:]
        /// That nobody has told yet.
        var changes: [BreakerChange] = []
    }

    private let state = Locked(State())

    /// Whether requests may be sent now.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - now: steady time.
    /// - Returns: all, a single probe, or nothing.
    func admit(_ scope: BreakerScope, at now: Microseconds) -> Breaker.Admission {
        state.withLock { state in
            guard state.all[scope] != nil else { return .all }
            return state.all[scope, default: Breaker()].admit(at: now)
        }
    }

    /// Tells a breaker something.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - why: what is behind it, for whoever tells that the breaker opened.
    ///   - body: tells it.
    func update(_ scope: BreakerScope, because why: BreakerReason? = nil, _ body: (inout Breaker) -> Void) {
        state.withLock { state in
            if state.all.count >= Self.limit { state.all = state.all.filter { !$0.value.isClosed } }
            var breaker = state.all[scope] ?? Breaker()
            let wasClosed = breaker.isClosed
            body(&breaker)
            if breaker.isClosed != wasClosed {
                state.changes.append(BreakerChange(scope: scope, cause: breaker.cause, why: why))
            }
            state.all[scope] = scope.isTopic && breaker.isClosed ? nil : breaker
        }
    }

    /// The breakers that opened or closed since this was last asked: each change is told by one thread.
    func takeChanges() -> [BreakerChange] {
        state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// Keeps everything back but probes, since the provider refused the sender or the topic.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - now: steady time.
    ///   - why: what the provider said.
    func refused(_ scope: BreakerScope, at now: Microseconds, because why: BreakerReason) {
        update(scope, because: why) { $0.refused(at: now) }
    }

    /// Keeps everything back that goes there, since the provider asked for it.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - wait: how long.
    ///   - now: steady time.
    ///   - why: what the provider said.
    func hold(_ scope: BreakerScope, for wait: Microseconds, at now: Microseconds, because why: BreakerReason) {
        update(scope, because: why) { $0.hold(for: wait, at: now) }
    }

    /// Whether a provider or a service keeps requests back.
    var isAnyOpen: Bool { state.withLock { $0.all.contains { !$0.key.isTopic && !$0.value.isClosed } } }

    /// Whether any topic was refused, and its pushes are held back.
    var isAnyTopicRefused: Bool { state.withLock { $0.all.keys.contains(where: \.isTopic) } }
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
