import Foundation
import Threading

/// The faults that apply to one request.
struct FaultDecision {
    var delayMilliseconds: Int64 = 0
    var action: FaultAction?

    /// The name in the ledger; nil if no fault applies.
    var label: String? {
        action?.label ?? (delayMilliseconds > 0 ? "slow" : nil)
    }
}

/// The faults in force, and the number of times each was applied.
final class FaultPlan: Sendable {
    private struct Entry {
        let fault: Fault
        var skipped = 0
        var applied = 0
        var appliedPerToken: [String: Int] = [:]
    }

    private struct State {
        var entries: [Entry] = []
        /// The JSON of the faults, for `GET /faults`.
        var source: [UInt8] = Array("[]".utf8)
        var streamLimit: Int?
        var window: Int?
    }

    private let state = Locked(State())

    /// Replaces the faults; the counts start again.
    ///
    /// - Parameter json: the list in the format that `Fault` describes.
    /// - Throws: `SandboxError` naming index and field; the old faults then stay in force.
    func replace(_ json: [UInt8]) throws(SandboxError) {
        let faults = try FaultParser.parse(json)
        var fresh = State(source: json)
        for fault in faults {
            switch fault.action {
            case .streamLimit(let limit): fresh.streamLimit = limit
            case .window(let bytes): fresh.window = bytes
            default: fresh.entries.append(Entry(fault: fault))
            }
        }
        let replacement = fresh
        state.withLock { $0 = replacement }
    }

    /// Ends all faults.
    func clear() {
        state.withLock { $0 = State() }
    }

    /// The JSON of the faults in force.
    var source: [UInt8] {
        state.withLock { $0.source }
    }

    /// Whether no fault is in force.
    var isEmpty: Bool {
        state.withLock { $0.entries.isEmpty }
    }

    /// The stream limit of a `stream_limit` fault, if one is in force.
    var streamLimit: Int? {
        state.withLock { $0.streamLimit }
    }

    /// The flow-control window per stream of a `window` fault, in bytes, if one is in force.
    var window: Int? {
        state.withLock { $0.window }
    }

    /// Decides about a request whose headers have arrived, before its body is read: only `close` at `headers` applies.
    func closesAtHeaders(provider: SimulatedService, environment: Environment, target: String) -> Bool {
        state.withLock { state in
            for index in state.entries.indices {
                guard case .close(atHeaders: true) = state.entries[index].fault.action else { continue }
                if Self.applies(&state.entries[index], provider, environment, target) { return true }
            }
            return false
        }
    }

    /// Decides about a complete request, and counts the faults that apply.
    ///
    /// `status` faults do not apply if the provider would not accept the request, or does not have the reason.
    func decide(provider: SimulatedService, environment: Environment, target: String, accepted: Bool) -> FaultDecision {
        state.withLock { state in
            var decision = FaultDecision()
            for index in state.entries.indices {
                switch state.entries[index].fault.action {
                case .close(atHeaders: true): continue
                case .status(let status) where !accepted || !status.isKnown(to: provider): continue
                default: break
                }
                guard Self.applies(&state.entries[index], provider, environment, target) else { continue }
                let action = state.entries[index].fault.action
                guard case .slow(let milliseconds) = action else {
                    decision.action = action
                    break
                }
                decision.delayMilliseconds += milliseconds
            }
            return decision
        }
    }

    /// Returns whether an entry applies to this request and is not used up; counts it if so.
    private static func applies(
        _ entry: inout Entry,
        _ provider: SimulatedService,
        _ environment: Environment,
        _ target: String
    ) -> Bool {
        let fault = entry.fault
        guard fault.provider.map({ $0 == provider }) ?? provider.isPush,
            fault.environment == nil || fault.environment == environment,
            fault.total.map({ entry.applied < $0 }) ?? true,
            matches(fault, target)
        else { return false }
        if let times = fault.timesPerToken {
            guard entry.appliedPerToken[target, default: 0] < times else { return false }
        }
        guard entry.skipped >= fault.skip else {
            entry.skipped += 1
            return false
        }
        if fault.timesPerToken != nil {
            entry.appliedPerToken[target, default: 0] += 1
        }
        entry.applied += 1
        return true
    }

    private static func matches(_ fault: Fault, _ target: String) -> Bool {
        if let share = fault.share {
            var hash = StableHash()
            hash.combine(fault.salt)
            hash.combine(target)
            guard hash.fraction < share else { return false }
        }
        guard let token = fault.token else { return true }
        return token.firstMatch(in: target, range: NSRange(location: 0, length: target.utf16.count)) != nil
    }
}
