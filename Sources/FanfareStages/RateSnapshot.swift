package import FanfareCore
package import FanfareStore
internal import Threading

/// The rates of apps and providers as this daemon last read them, with a version number that grows with each change.
///
/// The snapshot selects the batches to claim under a rate. The speed is applied by the claim statement itself.
package final class RateSnapshot: Sendable {
    private struct State {
        var version = 0
        var rates = AppRates([])
    }

    private let state = Locked(State())

    package init() {}

    /// A number that grows whenever the set of rates changes.
    package var version: Int { state.withLock { $0.version } }

    /// All rates.
    package var current: AppRates { state.withLock { $0.rates } }

    /// Replaces the rates with those read from the database.
    ///
    /// - Parameter rates: all rates.
    /// - Returns: whether anything changed.
    package func replace(_ rates: [AppRate]) -> Bool {
        state.withLock { state in
            let fresh = AppRates(rates)
            guard fresh != state.rates else { return false }
            state.rates = fresh
            state.version += 1
            return true
        }
    }
}

/// The rates of apps and providers.
package struct AppRates: Equatable, Sendable {
    private let byApp: [String: [AppRate]]

    package init(_ rates: [AppRate]) {
        byApp = Dictionary(grouping: rates, by: \.app)
    }

    /// Whether there are no rates.
    package var isEmpty: Bool { byApp.isEmpty }

    /// Returns the rates that apply to a target's batches in a lane.
    ///
    /// - Parameters:
    ///   - target: the target.
    ///   - lane: the lane; the transactional lane has no rates.
    /// - Returns: the ids of the rates, sorted; usually none.
    package func of(_ target: Target, in lane: Lane) -> [Int32] {
        guard lane != .transactional, let rates = byApp[target.app] else { return [] }
        return rates.filter { $0.provider == nil || $0.provider == target.provider }.map(\.id).sorted()
    }
}
