internal import FanfareCore
internal import FanfareProviders
internal import PushTransport
internal import Threading

/// The breakers of one pool.
///
/// APNs and FCM have one breaker, and one more for each refused topic: a wrong topic stops no other topic. Web Push and webhooks have
/// one for each host and one for each device that fails: a failing host or device stops no other.
final class Breakers: Sendable {
    /// Of so many breakers those that are closed are forgotten: origins and devices come from strangers.
    ///
    /// While so many are open, a device gets none.
    private static let limit = 1000
    /// So many of those that refuse the sender, and so many of those that fail, are told.
    private static let toldLimit = 20
    /// So much is told of what the system or the provider said.
    private static let wordsLimit = 200
    /// So often a push is refused while others are accepted in between, until it is taken to be refused for its own sake.
    private static let patience = 3
    /// So much longer than others a refused push waits to be the probe.
    ///
    /// If it is refused for its own sake, another push has been the probe by then.
    private static let grace = Micros.second

    /// A push that was refused as its sender was.
    private struct Suspect {
        let scope: BreakerScope
        var refusals = 0
        /// Others were accepted since it was refused last.
        var isDue = true
    }

    private struct State {
        var all: [BreakerScope: Breaker] = [:]
        /// What the provider said where it refuses the sender or a topic.
        var refusals: [BreakerScope: String] = [:]
        /// Why other breakers opened, of those of providers and services.
        var failures: [BreakerScope: String] = [:]
        var suspects: [BatchPosition: Suspect] = [:]
        var heldDevices = HeldDevices()
        /// That nobody has told yet.
        var changes: [BreakerChange] = []
    }

    private let state = Locked(State())

    /// Tells a breaker something.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - why: what is behind it, for whoever tells that the breaker opened.
    ///   - body: tells it.
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

    /// Counts what the push to a device says of it: a device that never failed has no breaker.
    ///
    /// - Parameters:
    ///   - device: which.
    ///   - health: what it says.
    ///   - now: steady time.
    ///   - why: what is behind it.
    func record(device: Int64, _ health: ProviderHealth, at now: Microseconds, because why: BreakerReason) {
        let scope = BreakerScope.device(device)
        guard health == .failed || state.withLock({ $0.all[scope] != nil }) else { return }
        update(scope, because: why) { $0.record(health, at: now) }
    }

    /// The devices that only probes go to.
    var heldDevices: HeldDevices { state.withLock { $0.heldDevices } }

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
        state.withLock { state in
            // Of very many services that refuse the sender, the first are told.
            guard state.refusals[scope] != nil || state.refusals.count < Self.toldLimit else { return }
            state.refusals[scope] = why.reason
        }
        update(scope, because: why) { $0.refused(at: now) }
    }

    /// Whether the refusal of a push is its sender's: it may be refused for its own sake, each time that others are accepted.
    ///
    /// - Parameters:
    ///   - scope: what the answer refused.
    ///   - push: which push was refused.
    /// - Returns: false if the push was refused three times, and others were accepted in between.
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

    /// Whether requests may be sent now.
    ///
    /// - Parameters:
    ///   - scope: which.
    ///   - push: which would be the first.
    ///   - now: steady time.
    /// - Returns: all, a single probe, or nothing.
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
            // One that was not refused again since others were accepted last is no suspect.
            state.suspects[push] = suspect.isDue ? nil : Suspect(scope: scope, refusals: suspect.refusals, isDue: true)
        }
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

    /// What keeps requests back.
    var standing: Standing {
        state.withLock { state in
            Standing(
                isAnyOpen: state.all.contains { !$0.key.isTopic && !$0.key.isDevice && !$0.value.isClosed },
                refusals: state.refusals,
                failures: state.failures.filter { state.refusals[$0.key] == nil }
            )
        }
    }

    /// What keeps requests back.
    struct Standing {
        /// A provider or a service.
        let isAnyOpen: Bool
        /// What the provider said where it refuses the sender or a topic.
        let refusals: [BreakerScope: String]
        /// Why a provider or a service is left alone otherwise.
        let failures: [BreakerScope: String]
    }
}

/// A push, by its place in its batch.
struct BatchPosition: Hashable, Sendable {
    let batch: Int64
    let position: Int32
}

/// The devices whose breakers are open.
struct HeldDevices: Sendable {
    private(set) var ids: Set<Int64> = []
    /// Goes up with each change.
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
