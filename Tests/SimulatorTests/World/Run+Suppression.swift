import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The parts of a run that depend on its combination: a policy, and campaigns whose gates open and close.
extension Run {
    private static let rate: Int32 = 1

    /// Stores the app's policy at the start.
    func putPolicy(_ combination: Combination) {
        let chance = world.chance.number(0...2)
        server.change { rows in
            var policy = Rows.Policy()
            if combination.quiet != .none {
                // Quiet from the start, from a minute later, or in the afternoon of the zone that is awake.
                let times = [("23:30", "00:01"), ("00:01", "00:02"), ("17:00", "17:01")][chance]
                policy.hours = Rows.Hours(from: times.0, until: times.1, isHeld: combination.quiet == .hold)
            }
            if combination.hasCaps {
                policy.caps = [
                    Rows.Cap(name: "few", count: 2, period: Micros.minute, since: 0),
                    Rows.Cap(name: "rare", count: 3, period: 5 * Micros.minute, since: 0),
                ]
            }
            rows.policy = policy
            for id in rows.devices.keys {
                // The devices of one user can be in several zones.
                rows.devices[id]?.zone =
                    [SimulatedZone.asleep, SimulatedZone.asleep, SimulatedZone.awake, nil][Int(id % 4)]
            }
        }
        guard combination.hasRate else { return }
        let perSecond = Double([3, 5, 10, 30][world.chance.number(0...3)])
        deliveriesPerSecond = perSecond
        server.change { $0.rates[Self.rate] = Rows.Rate(perSecond: perSecond, nextFree: $0.now) }
    }

    /// Fires a campaign.
    func fire(_ combination: Combination) {
        guard server.isUp else { return again(in: Micros.second) { self.fire(combination) } }
        var due: [String: Microseconds] = [:]
        if combination.isLocal {
            for zone in ["", SimulatedZone.asleep, SimulatedZone.awake] {
                due[zone] = server.now + world.chance.time(-Micros.second...30 * Micros.second)
            }
        }
        let canary: Set<String> = combination.canary == .none ? [] : ["user-\(world.chance.number(0...4))"]
        let id = server.change { rows in
            let xid = rows.begin()
            let id = rows.emit(combination.campaign, users: [], in: xid)
            rows.fire(id, canary: canary, due: due, rate: combination.hasRate ? Self.rate : nil)
            rows.commit(xid)
            return id
        }
        campaignsLeft -= 1
        expect(id, type: combination.campaign)
        committed.insert(id)
        campaigns[id] = Campaign(gates: server.rows.gates(of: id), run: server.rows.runs[id])
        let wait = world.chance.time(0...20 * Micros.second)
        switch combination.canary {
        case .none: break
        case .opens: again(in: wait) { self.open(id) }
        case .aborted: again(in: wait) { self.abort(id) }
        }
        if world.chance.happens(0.3) { again(in: world.chance.time(0...10 * Micros.second)) { self.pause(id) } }
    }

    /// Postpones an action of an operator or a verdict while the server is down.
    private func again(in delay: Microseconds, _ body: @escaping () -> Void) {
        world.after(delay) {
            guard self.server.isUp else { return self.again(in: Micros.second, body) }
            body()
        }
    }

    /// Opens the gate after the canary's success.
    private func open(_ event: Int64) {
        guard let held = campaigns[event]?.run?.held, server.rows.gates[held]?.isPaused == false else {
            return again(in: Micros.second) { self.open(event) }
        }
        // Recorded first, so that claims caused by the change are checked against it.
        campaigns[event]?.openedAt = world.now
        server.change { $0.gates[held]?.state = .open }
    }

    private func abort(_ event: Int64) {
        campaigns[event]?.abortedAt = world.now
        server.change { rows in
            for gate in rows.gates(of: event) { rows.gates[gate]?.state = .aborting }
        }
    }

    private func pause(_ event: Int64) {
        campaigns[event]?.pausedAt = world.now
        server.change { rows in
            for gate in rows.gates(of: event) { rows.gates[gate]?.isPaused = true }
        }
        again(in: world.chance.time(Micros.second...8 * Micros.second)) {
            self.campaigns[event]?.pausedAt = nil
            self.server.change { rows in
                for gate in rows.gates(of: event) { rows.gates[gate]?.isPaused = false }
            }
        }
    }
}

/// The state of one run of a campaign; times are on the steady clock.
struct Campaign {
    let gates: [Int32]
    let run: Rows.Run?
    /// The time at which the gate of the audience without the canary opened.
    var openedAt: Microseconds?
    var abortedAt: Microseconds?
    /// The time of a pause; nil after it ended.
    var pausedAt: Microseconds?
}
