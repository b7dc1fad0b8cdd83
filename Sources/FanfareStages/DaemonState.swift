internal import FanfareCore
internal import PostgresClient
internal import Threading

/// This daemon's leader roles and the status that it stores for `fanfare status` with each lease renewal.
package final class DaemonState: Sendable {
    private struct State {
        var leads: Set<LeaderRole> = []
        var isListening = false
        var listenProvedAt: Double?
        var breakers: [String: BreakerReport] = [:]
        var unserved: [String] = []
        var hasPlans = false
        var hasOthers = true
    }

    private let state = Locked(State())

    /// The leader roles that this daemon holds, sorted by name.
    package var leads: [String] { state.withLock { $0.leads.map(\.rawValue).sorted() } }

    /// Records that a leader role was acquired or lost.
    package func lead(_ role: LeaderRole, _ isLeader: Bool) {
        state.withLock { state in
            if isLeader { state.leads.insert(role) } else { state.leads.remove(role) }
        }
    }

    /// Records whether LISTEN is known to work.
    package func listening(_ isListening: Bool) {
        state.withLock { state in
            state.isListening = isListening
            if isListening { state.listenProvedAt = Double(Clocks.wall) / 1e6 }
        }
    }

    /// The last time LISTEN was confirmed to work, in seconds since 1970; nil if it never was.
    package var listenProvedAt: Double? { state.withLock { $0.listenProvedAt } }

    /// Whether LISTEN is known to work.
    package var isListening: Bool { state.withLock { $0.isListening } }

    /// Whether there were large audiences to expand at the last look.
    package var hasPlans: Bool { state.withLock { $0.hasPlans } }

    /// Records whether there are large audiences to expand.
    ///
    /// - Returns: whether there are, and were none before.
    package func plans(_ hasPlans: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasPlans = hasPlans }
            return hasPlans && !state.hasPlans
        }
    }

    /// Whether there may be other daemons.
    package var hasOthers: Bool { state.withLock { $0.hasOthers } }

    /// Records whether there are other daemons.
    ///
    /// - Returns: whether there are, and were none before.
    package func others(_ hasOthers: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasOthers = hasOthers }
            return hasOthers && !state.hasOthers
        }
    }

    /// Records the state of a provider's breaker.
    package func breaker(_ name: String, _ report: BreakerReport) {
        state.withLock { $0.breakers[name] = report }
    }

    /// Records the apps and providers that have devices but no credentials on this daemon.
    ///
    /// - Parameter names: names such as `shop/apns`; only the first 1,000 are reported.
    package func unserved(_ names: [String]) {
        state.withLock { $0.unserved = Array(names.prefix(1000)) }
    }

    /// The names of the breakers that are open, sorted.
    package var openBreakers: [String] {
        state.withLock { $0.breakers.filter(\.value.isOpen).keys.sorted() }
    }

    /// Removes the breaker of a sender that no longer exists.
    package func forgetBreaker(_ name: String) {
        state.withLock { $0.breakers[name] = nil }
    }

    /// Returns the status as JSON.
    ///
    /// It has counts since the start, LISTEN, breakers, apps without credentials and fuses, and the audit's findings if
    /// this daemon audits.
    package func report(_ context: StageContext, _ figures: Figures, _ fuses: PruneFuses) -> String {
        let counts = figures.counters.snapshot
        let state = state.withLock { $0 }
        var report = JSONObject()
        report["listening"] = .bool(state.isListening)
        report["roles"] = .array(context.settings.roles.map { JSONValue.string($0.rawValue) })
        report["requests"] = .number(JSONNumber(counts.requests))
        report["batches_closed"] = .number(JSONNumber(counts.batchesClosed))
        report["devices_pruned"] = .number(JSONNumber(counts.devicesPruned))
        var events = JSONObject()
        for (fate, count) in counts.eventsByFate.sorted(by: { $0.key < $1.key }) {
            events[EventFate.name(of: fate)] = .number(JSONNumber(count))
        }
        report["events"] = .object(events)
        var breakers = JSONObject()
        var refusals = JSONObject()
        var failures = JSONObject()
        for (name, breaker) in state.breakers.sorted(by: { $0.key < $1.key }) {
            breakers[name] = .string(breaker.isOpen ? "open" : "closed")
            for (whom, reason) in breaker.refusals.sorted(by: { $0.key < $1.key }) {
                refusals[whom.isEmpty ? name : "\(name) \(whom)"] = .string(reason)
            }
            for (whom, why) in breaker.failures.sorted(by: { $0.key < $1.key }) {
                failures[whom.isEmpty ? name : "\(name) \(whom)"] = .string(why)
            }
        }
        report["breakers"] = .object(breakers)
        report["refusals"] = .object(refusals)
        report["failures"] = .object(failures)
        report["unserved"] = .array(state.unserved.map { .string($0) })
        report["fuses_blown"] = .array(fuses.blown.map { .string("\($0)") })
        if let step = context.lease.clockStep, Clocks.steady - step.noticedAt < Micros.hour {
            report["clock_step_ms"] = .number(JSONNumber(step.distance / Micros.millisecond))
        }
        let audit = figures.audit.figures
        if !audit.isEmpty { report["audit"] = Self.audit(audit, at: context.lease.databaseNow) }
        return String(decoding: JSONValue.object(report).encoded, as: UTF8.self)
    }

    private static func audit(_ figures: [String: AuditFigure], at now: Microseconds) -> JSONValue {
        var audit = JSONObject()
        for (check, figure) in figures.sorted(by: { $0.key < $1.key }) {
            var members = JSONObject()
            members["found"] = .number(JSONNumber(figure.found))
            if let oldest = figure.oldest {
                let seconds = max(0, now - oldest.microseconds) / Micros.second
                members["oldest_seconds"] = .number(JSONNumber(seconds))
            }
            audit[check] = .object(members)
        }
        return .object(audit)
    }
}
