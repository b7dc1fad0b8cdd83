internal import FanfareCore
internal import FanfareProviders
internal import PushTransport
internal import Threading

/// The breakers of one pool.
///
/// APNs and FCM have one breaker, and one for each rejected topic, so that a wrong topic stops no other topic. Web Push
/// and webhooks have one for each host and each failing device, so that a failing host or device stops no other.
final class Breakers: Sendable {
    /// The number of breakers above which closed ones are forgotten, since origins and devices are chosen by third
    /// parties.
    ///
    /// While this many are open, a further device gets no breaker.
    private static let limit = 1000
    /// The number of rejections, and of failures, that are reported.
    private static let toldLimit = 20
    /// The length at which reported texts are cut.
    private static let wordsLimit = 200
    /// The number of rejections, with others accepted in between, after which a rejection is attributed to the push
    /// itself.
    private static let patience = 3
    /// The additional time before a rejected push may be the probe.
    ///
    /// If the push itself is the cause, another push has been the probe by then.
    private static let grace = Micros.second

    /// A push that was rejected in a way that blames its sender.
    private struct Suspect {
        let scope: BreakerScope
        var refusals = 0
        /// Whether other pushes were accepted since its last rejection.
        var isDue = true
    }

    private struct State {
        var all: [BreakerScope: Breaker] = [:]
        /// The provider's reasons for rejecting the sender or a topic.
        var refusals: [BreakerScope: String] = [:]
        /// The reasons of the other open breakers of providers and services.
        var failures: [BreakerScope: String] = [:]
        var suspects: [BatchPosition: Suspect] = [:]
        var heldDevices = HeldDevices()
        /// The changes that are not logged yet.
        var changes: [BreakerChange] = []
    }

    private let state = Locked(State())

    /// Updates a breaker and records whether it opened or closed.
    ///
    /// - Parameters:
    ///   - scope: the breaker's scope.
    ///   - why: the reason to log if the breaker opens.
    ///   - body: updates the breaker.
    func update(_ scope: BreakerScope, because why: BreakerReason? = nil, _ body: (inout Breaker) -> Void) {
        state.withLock { state in
            if state.all[scope] == nil && state.all.count >= Self.limit {
                state.all = state.all.filter { !$0.value.isClosed }
                if scope.isDevice && state.all.count >= Self.limit { return }
            }
            var breaker = state.all[scope] ?? Breaker()
            let wasClosed = breaker.isClosed
            body(&breaker)
            if breaker.isClosed != wasClosed {
                state.changes.append(BreakerChange(scope: scope, cause: breaker.cause, why: why))
                if breaker.isClosed { Self.closed(scope, &state) } else { Self.opened(scope, because: why, &state) }
                if case .device(let id) = scope { state.heldDevices.set(id, isHeld: !breaker.isClosed) }
            }
            state.all[scope] = scope.isTopic && breaker.isClosed ? nil : breaker
        }
    }

    /// Records the result of a push for its device; a device that never failed has no breaker.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - health: the result.
    ///   - now: steady time.
    ///   - why: the reason.
    func record(device: Int64, _ health: ProviderHealth, at now: Microseconds, because why: BreakerReason) {
        let scope = BreakerScope.device(device)
        guard health == .failed || state.withLock({ $0.all[scope] != nil }) else { return }
        update(scope, because: why) { $0.record(health, at: now) }
    }

    /// The devices to which only probes are sent.
    var heldDevices: HeldDevices { state.withLock { $0.heldDevices } }

    /// Returns the breakers that opened or closed since the last call, so that one thread logs each change.
    func takeChanges() -> [BreakerChange] {
        state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// Opens a breaker, except for probes, because the provider rejected the sender or the topic.
    ///
    /// - Parameters:
    ///   - scope: the breaker's scope.
    ///   - now: steady time.
    ///   - why: the provider's reason.
    func refused(_ scope: BreakerScope, at now: Microseconds, because why: BreakerReason) {
        state.withLock { state in
            // If very many services reject the sender, only the first ones are reported.
            guard state.refusals[scope] != nil || state.refusals.count < Self.toldLimit else { return }
            state.refusals[scope] = why.reason
        }
        update(scope, because: why) { $0.refused(at: now) }
    }

    /// Returns whether the rejection of a push is attributed to its sender; a rejection of the push itself recurs while
    /// others are accepted.
    ///
    /// - Parameters:
    ///   - scope: the scope that the answer rejected.
    ///   - push: the rejected push.
    /// - Returns: false if the push was rejected three times, and others were accepted in between.
    func blames(_ scope: BreakerScope, push: BatchPosition) -> Bool {
        state.withLock { state in
            guard state.suspects[push] != nil || state.suspects.count < Self.limit else { return true }
            var suspect = state.suspects[push] ?? Suspect(scope: scope)
            if suspect.isDue { suspect.refusals += 1 }
            suspect.isDue = false
            let isOver = suspect.refusals >= Self.patience
            state.suspects[push] = isOver ? nil : suspect
            return !isOver
        }
    }

    /// Returns whether requests may be sent now.
    ///
    /// - Parameters:
    ///   - scope: the breaker's scope.
    ///   - push: the first push that would be sent.
    ///   - now: steady time.
    /// - Returns: whether all requests, a single probe or nothing may be sent.
    func admit(_ scope: BreakerScope, for push: BatchPosition, at now: Microseconds) -> Breaker.Admission {
        state.withLock { state in
            guard state.all[scope] != nil else { return .all }
            let isSuspect = state.suspects[push] != nil
            return state.all[scope, default: Breaker()].admit(at: isSuspect ? now - Self.grace : now)
        }
    }

    private static func opened(_ scope: BreakerScope, because why: BreakerReason?, _ state: inout State) {
        guard !scope.isDevice, !scope.isTopic, state.refusals[scope] == nil, state.failures.count < toldLimit else {
            return
        }
        let words = why?.words.map { String($0.prefix(wordsLimit)) }
        state.failures[scope] = words ?? why?.reason ?? "no answer"
    }

    private static func closed(_ scope: BreakerScope, _ state: inout State) {
        state.refusals[scope] = nil
        state.failures[scope] = nil
        for (push, suspect) in state.suspects where suspect.scope == scope {
            // A push that was not rejected again since others were last accepted is no longer a suspect.
            state.suspects[push] = suspect.isDue ? nil : Suspect(scope: scope, refusals: suspect.refusals, isDue: true)
        }
    }

    /// Holds back all requests of a scope, because the provider asked for it.
    ///
    /// - Parameters:
    ///   - scope: the breaker's scope.
    ///   - wait: how long to hold them back.
    ///   - now: steady time.
    ///   - why: the provider's reason.
    func hold(_ scope: BreakerScope, for wait: Microseconds, at now: Microseconds, because why: BreakerReason) {
        update(scope, because: why) { $0.hold(for: wait, at: now) }
    }

    /// The state of the open breakers.
    var standing: Standing {
        state.withLock { state in
            Standing(
                isAnyOpen: state.all.contains { !$0.key.isTopic && !$0.key.isDevice && !$0.value.isClosed },
                refusals: state.refusals,
                failures: state.failures.filter { state.refusals[$0.key] == nil }
            )
        }
    }

    /// The state of a pool's open breakers.
    struct Standing {
        /// Whether the breaker of a provider or a service is open.
        let isAnyOpen: Bool
        /// The provider's reasons for rejecting the sender or a topic.
        let refusals: [BreakerScope: String]
        /// The other reasons why a provider or a service is held back.
        let failures: [BreakerScope: String]
    }
}

/// The devices whose breakers are open.
struct HeldDevices: Sendable {
    private(set) var ids: Set<Int64> = []
    /// A number that grows with each change.
    private(set) var version = 0

    fileprivate mutating func set(_ id: Int64, isHeld: Bool) {
        if isHeld { ids.insert(id) } else { ids.remove(id) }
        version += 1
    }
}

extension BreakerScope {
    fileprivate var isDevice: Bool {
        if case .device = self { return true }
        return false
    }

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
