internal import FanfareCore
internal import FanfareStore
internal import Threading

/// A daemon's record of rules' queries: which are slow, so that the others do not wait for them, and which fail.
final class QueryCosts: Sendable {
    /// The duration from which a query is slow.
    static let slowness = 100 * Micros.millisecond
    /// How long a rule's query counts as slow after it last was; with another payload it may be fast.
    static let memory = Micros.minute

    private struct State {
        /// The steady time until which queries are slow, by rule version.
        var slowUntil: [Int32: Microseconds] = [:]
        /// The last failure by rule version, nil if the query works; a version without an entry was not run yet.
        var failures: [Int32: String?] = [:]
    }

    private let state = Locked(State())

    /// Returns which rules' events a stage takes.
    ///
    /// - Parameters:
    ///   - isForSlow: whether the stage runs the slow queries, or the others.
    ///   - now: steady time.
    /// - Returns: the slow rule versions, to be taken or to be excluded.
    func choice(isForSlow: Bool, at now: Microseconds = Clocks.steady) -> QueryChoice {
        let slow = state.withLock { state in state.slowUntil.filter { $0.value > now }.keys.sorted() }
        return QueryChoice(ruleVersions: slow, areTaken: isForSlow)
    }

    /// Records the duration of a query.
    ///
    /// - Parameters:
    ///   - time: the duration until it returned or failed.
    ///   - ruleVersion: the rule version.
    ///   - now: steady time.
    /// - Returns: whether the query is slow and was not known to be.
    func took(_ time: Microseconds, ruleVersion: Int32, at now: Microseconds = Clocks.steady) -> Bool {
        guard time >= Self.slowness else { return false }
        return state.withLock { state in
            state.slowUntil = state.slowUntil.filter { $0.value > now }
            return state.slowUntil.updateValue(now + Self.memory, forKey: ruleVersion) == nil
        }
    }

    /// Returns whether a query's result differs from the recorded one, or is the first.
    func isNews(_ failure: String?, ruleVersion: Int32) -> Bool {
        state.withLock { state in
            guard let known = state.failures[ruleVersion] else { return true }
            return known != failure
        }
    }

    /// Records the failure of a query, nil if it works.
    ///
    /// - Returns: whether it had failed before.
    @discardableResult
    func note(_ failure: String?, ruleVersion: Int32) -> Bool {
        state.withLock { state in (state.failures.updateValue(failure, forKey: ruleVersion) ?? nil) != nil }
    }
}
