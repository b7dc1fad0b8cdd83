package import FanfareCore
package import FanfareStore
internal import Threading

/// The rates of apps and providers as this daemon last saw them, and how often that changed.
///
/// It tells what is to be claimed by rates; how fast they are the claim itself looks.
package final class RateSnapshot: Sendable {
    private struct State {
        var version = 0
        var rates = AppRates([])
    }

    private let state = Locked(State())

    package init() {}

    /// Grows whenever one came or went.
    package var version: Int { state.withLock { $0.version } }

    /// All of them.
    package var current: AppRates { state.withLock { $0.rates } }

    /// Takes over what the database says.
    ///
    /// - Parameter rates: all there are.
    /// - Returns: whether anything is different.
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

    /// Whether there are none.
    package var isEmpty: Bool { byApp.isEmpty }

    /// The rates that a target's batches in a lane are claimed by.
    ///
    /// - Parameters:
    ///   - target: the target.
    ///   - lane: the lane; the transactional one goes by none.
    /// - Returns: their ids in order; mostly none.
    package func of(_ target: Target, in lane: Lane) -> [Int32] {
        guard lane != .transactional, let rates = byApp[target.app] else { return [] }
        return rates.filter { $0.provider == nil || $0.provider == target.provider }.map(\.id).sorted()
    }
}
