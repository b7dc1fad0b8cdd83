package import FanfareStore
internal import Threading

/// The gates as this daemon last saw them, and how often that changed.
///
/// It tells whose batches to claim, and which are to be given back; whether a batch may be claimed the claim itself looks.
package final class GateSnapshot: Sendable {
    private struct State {
        var version = 0
        var gates: [Int32: Gate] = [:]
        var open: [Gate] = []
        var aborting: [Gate] = []
        var arePaced = false
    }

    private let state = Locked(State())

    package init() {}

    /// Grows whenever a gate came, went, opened or closed.
    package var version: Int { state.withLock { $0.version } }

    /// Those that batches may be claimed behind, but for those that nothing waits behind.
    package var open: [Gate] { state.withLock { $0.open } }

    /// Those behind which everything ends.
    package var aborting: [Gate] { state.withLock { $0.aborting } }

    /// Whether one of those that are open has a rate.
    package var arePaced: Bool { state.withLock { $0.arePaced } }

    /// Whether none is known.
    package var isEmpty: Bool { state.withLock { $0.gates.isEmpty } }

    /// Whether a batch behind a gate is not to be sent; one that is not known is closed.
    ///
    /// - Parameter gate: its id; 0 for none, which is always open.
    /// - Returns: true if it is to be given back.
    package func isClosed(_ gate: Int32) -> Bool {
        gate != 0 && state.withLock { $0.gates[gate]?.isOpen != true }
    }

    /// Takes over what the database says.
    ///
    /// - Parameter gates: those that are not done.
    /// - Returns: whether anything is different.
    package func replace(_ gates: [Gate]) -> Bool {
        state.withLock { state in
            let fresh = Dictionary(gates.map { ($0.id, $0) }) { first, _ in first }
            guard fresh != state.gates else { return false }
            state.gates = fresh
            state.open = gates.filter { $0.isOpen && !$0.isIdle }
            state.aborting = gates.filter { $0.state == .aborting }
            state.arePaced = state.open.contains(where: \.isPaced)
            state.version += 1
            return true
        }
    }
}
