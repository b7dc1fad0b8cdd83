package import FanfareStore
internal import Threading

/// The gates as this daemon last read them, with a version number that grows with each change.
///
/// The snapshot selects the gates to claim behind and the batches to give back. Whether a batch may be claimed is
/// decided by the claim statement itself.
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

    /// A number that grows whenever a gate is added, removed, opened or closed.
    package var version: Int { state.withLock { $0.version } }

    /// The open gates that have batches waiting behind them.
    package var open: [Gate] { state.withLock { $0.open } }

    /// The gates that are aborting: their batches are ended.
    package var aborting: [Gate] { state.withLock { $0.aborting } }

    /// Whether an open gate has a rate.
    package var arePaced: Bool { state.withLock { $0.arePaced } }

    /// Whether no gate is known.
    package var isEmpty: Bool { state.withLock { $0.gates.isEmpty } }

    /// Returns whether batches behind a gate must not be sent; an unknown gate counts as closed.
    ///
    /// - Parameter gate: the gate's id; 0 for no gate, which is always open.
    /// - Returns: true if such a batch must be given back.
    package func isClosed(_ gate: Int32) -> Bool {
        gate != 0 && state.withLock { $0.gates[gate]?.isOpen != true }
    }

    /// Replaces the gates with those read from the database.
    ///
    /// - Parameter gates: the gates that are not done.
    /// - Returns: whether anything changed.
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
