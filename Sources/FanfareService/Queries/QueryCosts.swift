internal import FanfareCore
internal import FanfareStore
internal import Threading

/// What a daemon knows of rules' queries: which are slow, so that the others do not wait behind them, and which fail.
final class QueryCosts: Sendable {
    /// From when on a query is slow.
    static let slowness = 100 * Micros.millisecond
    /// How long a rule's query counts as slow after it last was: with another payload it may be quick.
    static let memory = Micros.minute

    private struct State {
        /// By rule version (steady time).
        var slowUntil: [Int32: Microseconds] = [:]
        /// By rule version what its query last failed with, nil where it works; others were not run yet.
        var failures: [Int32: String?] = [:]
    }

    private let state = Locked(State())

    /// Which rules are whose.
    ///
    /// - Parameters:
    ///   - isForSlow: whether for who runs slow queries, or for who runs the others.
    ///   - now: steady time.
    /// - Returns: the slow ones, to be taken or to be left.
    func choice(isForSlow: Bool, at now: Microseconds = Clocks.steady) -> QueryChoice {
        let slow = state.withLock { state in state.slowUntil.filter { $0.value > now }.keys.sorted() }
        return QueryChoice(ruleVersions: slow, areTaken: isForSlow)
    }

    /// Notes how long a query took.
    ///
    /// - Parameters:
    ///   - time: from when it was asked until it answered or failed.
    ///   - ruleVersion: whose.
    ///   - now: steady time.
    /// - Returns: whether it is slow and was not known to be.
    func took(_ time: Microseconds, ruleVersion: Int32, at now: Microseconds = Clocks.steady) -> Bool {
        guard time >= Self.slowness else { return false }
        return state.withLock { state in
            state.slowUntil = state.slowUntil.filter { $0.value > now }
            return state.slowUntil.updateValue(now + Self.memory, forKey: ruleVersion) == nil
        }
    }

    /// Whether what a query failed with, nil if it works, is not known yet.
    func isNews(_ failure: String?, ruleVersion: Int32) -> Bool {
        state.withLock { state in
            guard let known = state.failures[ruleVersion] else { return true }
            return known != failure
        }
    }

    /// Notes what a query failed with, nil if it works.
    ///
    /// - Returns: whether it failed before.
    @discardableResult
    func note(_ failure: String?, ruleVersion: Int32) -> Bool {
        state.withLock { state in (state.failures.updateValue(failure, forKey: ruleVersion) ?? nil) != nil }
    }
}
