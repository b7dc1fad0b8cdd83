import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of statements about gates and the batches behind them.
extension Rows {
    struct GateRow: Equatable {
        var state = Gate.State.open
        var isPaused = false
        var rate: Int32?
    }

    /// One run of a campaign.
    struct Run: Equatable {
        let gate: Int32
        /// The gate of the audience without the canary.
        let held: Int32?
        /// The users of the canary.
        let canary: Set<String>
        /// The due time by zone; empty for at once.
        let due: [String: Microseconds]
    }

    /// Models `fanfare.fire`, beside the event.
    mutating func fire(_ event: Int64, canary: Set<String>, due: [String: Microseconds], rate: Int32?) {
        let first = lastGate + 1
        let held = canary.isEmpty ? nil : first + 1
        gates[first] = GateRow(rate: rate)
        if let held { gates[held] = GateRow(state: .held, rate: rate) }
        lastGate += 2
        runs[event] = Run(gate: first, held: held, canary: canary, due: due)
    }

    /// Returns both gates of a run.
    func gates(of event: Int64) -> [Int32] {
        runs[event].map { [$0.gate] + ($0.held.map { [$0] } ?? []) } ?? []
    }

    /// Returns the gate and time of a device in a slice.
    func place(of device: Device, in event: Int64, _ rule: SimulatedRule) -> Place {
        guard let run = runs[event] else { return Place() }
        let gate = run.canary.contains(device.user) ? run.gate : run.held ?? run.gate
        let due = run.due[device.zone ?? ""]
        let begin = max(due ?? now, now)
        var wakes: Microseconds?
        if case .ofApp = rule.loaded.compiled.definition.suppressions.hours, let hours = policy?.hours {
            let zone = SimulatedZone.named(device.zone ?? policy?.zone)
            wakes = zone.wakes(at: begin, from: hours.from, until: hours.until)
        }
        return Place(gate: gate, dueAt: due, notBefore: wakes ?? begin)
    }

    func apply(_ statement: LiveGates) -> [Gate] {
        gates.sorted { $0.key < $1.key }.map { id, gate in
            Gate(
                id: id,
                app: "shop",
                lane: .bulk,
                state: gate.state,
                isPaused: gate.isPaused,
                isPaced: gate.rate != nil
            )
        }
    }

    func isOpen(_ gate: Int32) -> Bool {
        gate == 0 || gates[gate].map { $0.state == .open && !$0.isPaused } ?? false
    }

    mutating func apply(_ statement: ClaimGated) -> [ClaimedBatch] {
        struct Queue: Hashable {
            let target: Int16
            let queue: SendQueue
        }
        // All gates of a queue share its room.
        var room: [Queue: Int32] = [:]
        for request in statement.requests { room[Queue(target: request.target, queue: request.queue)] = request.count }
        let open = statement.requests.filter { isOpen($0.gate) && gates[$0.gate]?.rate == nil }
        let found = due.of(open).sorted { ($0.notBefore, $0.id) < ($1.notBefore, $1.id) }
        let picked = found.filter { batch in
            let queue = Queue(target: batch.target, queue: batch.queue)
            room[queue, default: 0] -= 1
            return room[queue, default: 0] >= 0
        }
        return take(picked.map(\.id), statement.owner, statement.leaseToken)
    }

    // MARK: The end

    /// Ends the batches behind an aborted gate.
    @discardableResult
    mutating func apply(_ statement: SweepGate) -> Int64 {
        guard gates[statement.gate]?.state == .aborting else { return 0 }
        let ended = batches.values.filter { $0.owner == nil && $0.gate == statement.gate }.map(\.id).sorted()
            .prefix(SweepGate.limit)
        for id in ended {
            guard var batch = batches.removeValue(forKey: id) else { continue }
            if batch.outcomes.isEmpty { batch.outcomes = batch.deviceIDs.map { _ in 0 } }
            batch.outcomes = batch.outcomes.map { code in
                switch Outcome(rawValue: code) {
                case .attempted: Outcome.unknown.rawValue
                case .pending: Outcome.aborted.rawValue
                default: OutcomeRange(code: code) == .retrying ? Outcome.aborted.rawValue : code
                }
            }
            log[id] = batch
        }
        return Int64(ended.count)
    }

    /// Models `FinishRuns`: removes gates that have no batches and can get none.
    mutating func finishRuns() {
        for event in runs.keys where events[event] != nil && !plans.contains(where: { $0.eventID == event }) {
            let own = gates(of: event)
            guard !batches.values.contains(where: { own.contains($0.gate) }) else { continue }
            for gate in own { gates[gate] = nil }
        }
    }
}
