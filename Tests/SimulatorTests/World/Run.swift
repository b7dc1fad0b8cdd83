import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// One run: a few daemons, devices, events, and the faults of its seed.
final class Run {
    let seed: UInt64
    let world: Simulation
    let scenario: Scenario
    let server: Server
    let provider: Provider
    var daemons: [VirtualDaemon] = []
    /// The number of times a daemon may have lost what it had not recorded.
    private(set) var losses = 0
    /// The time on the steady clock at which each cancellation was committed.
    private(set) var cancelledAt: [Int64: Microseconds] = [:]
    /// The events whose transactions committed.
    var committed: Set<Int64> = []
    private(set) var problems: [String] = []
    private var eventsLeft: Int
    /// The number of campaigns still to be fired.
    var campaignsLeft = 0
    /// The combination of suppressions; nil for a run without them.
    let combination: Combination?
    var campaigns: [Int64: Campaign] = [:]
    /// The rate of paced campaigns.
    var deliveriesPerSecond: Double?
    var ledger = SuppressionLedger()

    /// - Parameters:
    ///   - seed: the seed of all random numbers.
    ///   - combination: the combination of suppressions; nil for a run without them.
    init(seed: UInt64, combination: Combination? = nil) {
        self.seed = seed
        self.combination = combination
        world = Simulation(seed: seed)
        scenario = Scenario(chance: &world.chance)
        server = Server(world: world)
        provider = Provider(world: world, scenario: scenario)
        eventsLeft = scenario.events
        server.sessionLoss = scenario.sessionLoss
        server.changed = { [unowned self] in checkChange() }
        provider.received = { [unowned self] delivery, daemon in
            checkRequest(delivery, from: daemon)
            checkUnrecorded(delivery, of: daemon)
        }
        addDevices()
        if let combination { putPolicy(combination) }
    }

    /// Records a broken promise.
    func broke(_ promise: String) {
        let kind = combination.map { "\(scenario.kind), \($0)" } ?? "\(scenario.kind)"
        problems.append("seed \(seed), \(kind), at \(Double(world.now) / 1e6) s: \(promise)")
    }

    /// Runs until all work is done.
    ///
    /// - Returns: the broken promises.
    func finish() -> [String] {
        for _ in 0..<scenario.daemons { startDaemon() }
        world.after(world.chance.time(0...Micros.second)) { self.emit() }
        if let combination {
            for _ in 0..<world.chance.number(1...3) {
                campaignsLeft += 1
                world.after(world.chance.time(0...8 * Micros.second)) {
                    self.fire(combination)
                }
            }
        }
        server.writeAhead()
        makeTrouble()
        // After the faults end, everything is done some time later; retries wait for minutes.
        world.run(until: scenario.chaosEnd, or: { false })
        endTrouble()
        world.run(
            until: 40 * Micros.minute,
            or: { self.eventsLeft == 0 && self.campaignsLeft == 0 && self.server.rows.isIdle }
        )
        checkEnd()
        for daemon in daemons { daemon.kill() }
        world.end()
        return problems
    }

    // MARK: Work

    private func addDevices() {
        server.change { rows in
            for id in 1...Int64(scenario.devices) {
                let token = "\(id)aa"
                rows.devices[id] = Rows.Device(
                    id: id,
                    user: "user-\(id % 5)",
                    token: token,
                    target: Int16(world.chance.number(1...2)),
                    registeredAt: rows.now - Micros.hour
                )
                provider.tokens[token] = truth(of: rows.devices[id]?.target ?? 1)
            }
        }
    }

    private func truth(of target: Int16) -> Provider.Token {
        let dice = world.chance.unit()
        if dice < scenario.gone {
            return Provider.Token(home: target, goneSince: server.now - world.chance.time(1000...Micros.minute))
        }
        if dice < scenario.gone + scenario.elsewhere { return Provider.Token(home: 3 - target) }
        if dice < scenario.gone + scenario.elsewhere + scenario.nowhere { return Provider.Token() }
        return Provider.Token(home: target)
    }

    /// Emits one event, whose transaction stays open for a while.
    private func emit() {
        eventsLeft -= 1
        let types = combination?.types ?? ["one", "all", "once", "one", "nobody"]
        let type = types[world.chance.number(0...types.count - 1)]
        let users = (0..<world.chance.number(1...3)).map { _ in "user-\(world.chance.number(0...4))" }
        let ttl: Microseconds? = world.chance.happens(0.2) ? world.chance.time(Micros.second...20 * Micros.second) : nil
        let key = world.chance.happens(0.3) ? "key-\(world.chance.number(1...2))" : nil
        if server.isUp {
            let xid = server.change(flushed: false) { $0.begin() }
            let id = server.change(flushed: false) { $0.emit(type, users: users, key: key, ttl: ttl, in: xid) }
            expect(id, type: type)
            world.after(world.chance.time(100...2 * Micros.second)) {
                guard self.server.rows.open.contains(xid) else { return }
                self.server.change { $0.commit(xid) }
                self.committed.insert(id)
                if self.world.chance.happens(0.25) { self.cancelLater(id) }
            }
        }
        if eventsLeft > 0 { world.after(world.chance.time(0...4 * Micros.second)) { self.emit() } }
    }

    /// Registers an event that is emitted now with the provider.
    func expect(_ event: Int64, type: String, createdAt: Microseconds? = nil) {
        provider.expect(
            event,
            createdAt: createdAt ?? server.rows.now,
            type: type,
            devices: (1...Int64(scenario.devices))
        )
    }

    private func cancelLater(_ event: Int64) {
        world.after(world.chance.time(0...3 * Micros.second)) {
            guard self.server.isUp else { return }
            let xid = self.server.change(flushed: false) { rows in
                let xid = rows.begin()
                rows.cancel(event: event, in: xid)
                return xid
            }
            self.world.after(self.world.chance.time(100...300 * Micros.millisecond)) {
                guard self.server.rows.open.contains(xid) else { return }
                self.server.change { $0.commit(xid) }
                self.cancelledAt[event] = self.cancelledAt[event] ?? self.world.now
            }
        }
    }

    // MARK: Trouble

    private func startDaemon() {
        let daemon = VirtualDaemon(world: world, server: server, scenario: scenario, provider: provider)
        daemons.append(daemon)
        daemon.reachedStep = { [unowned self] daemon in
            guard world.now < scenario.chaosEnd, world.chance.happens(scenario.stepTrouble) else { return }
            if world.chance.happens(0.2) { crash(daemon) } else { pause(daemon) }
        }
        daemon.suppressions = combination == nil ? nil : self
        daemon.start()
    }

    private func crash(_ victim: VirtualDaemon) {
        victim.kill()
        losses += 1
        world.after(world.chance.time(10 * Micros.millisecond...5 * Micros.second)) { self.startDaemon() }
    }

    /// Stops a daemon for less or for more than its lease; often an event is cancelled meanwhile.
    private func pause(_ victim: VirtualDaemon) {
        let isLong = world.chance.happens(0.3)
        let span = isLong ? 14 * Micros.second...25 * Micros.second : 10 * Micros.millisecond...13 * Micros.second
        victim.stop(for: world.chance.time(span))
        losses += 1
        let underWay = server.rows.batches.values.flatMap { $0.eventID.map { [$0] } ?? $0.eventIDs ?? [] }.sorted()
        guard !underWay.isEmpty, world.chance.happens(0.5) else { return }
        cancelLater(underWay[world.chance.number(0...underWay.count - 1)])
    }

    private func makeTrouble() {
        repeatedly(scenario.crashEvery) { self.anyDaemon().map(self.crash) }
        repeatedly(scenario.pauseEvery) { self.anyDaemon().map(self.pause) }
        repeatedly(scenario.cutOffEvery) {
            self.anyDaemon()?.cutOff(for: self.world.chance.time(Micros.second...8 * Micros.second))
            self.losses += 1
        }
        repeatedly(scenario.clockSetEvery) {
            self.anyDaemon()?.setClock(by: self.world.chance.time(-10 * Micros.minute...10 * Micros.minute))
        }
        repeatedly(scenario.controlLossEvery) {
            self.anyDaemon()?.control.id.map { self.server.end($0) }
            self.losses += 1
        }
        repeatedly(scenario.restartEvery) {
            guard self.server.isUp else { return }
            self.losses += self.daemons.count { $0.isAlive }
            let losesPower = self.world.chance.happens(0.5)
            if losesPower { self.ledger.powerLosses.append(self.world.now) }
            self.server.restart(losingPower: losesPower)
        }
        repeatedly(scenario.gone > 0 ? 2 * Micros.second : nil) { self.registerAgain() }
    }

    private func endTrouble() {
        server.sessionLoss = 0
        let calm = Scenario.Kind.calm
        provider.scenario = calm == scenario.kind ? scenario : scenario.withoutProviderFaults
    }

    /// Registers a token again that was unregistered, or unregisters one.
    private func registerAgain() {
        guard server.isUp else { return }
        let id = Int64(world.chance.number(1...scenario.devices))
        // Not for tokens that are registered only in the other environment: the first environment's response has no
        // timestamp, so that a registration between two attempts is not noticed.
        guard let device = server.rows.devices[id], var token = provider.tokens[device.token],
            token.home == device.target
        else { return }
        if token.goneSince != nil {
            token.goneSince = nil
            server.change { $0.register(id) }
        } else if world.chance.happens(0.3), device.registeredAt < server.now - 10 * Micros.millisecond {
            token.goneSince = server.now
        }
        provider.tokens[device.token] = token
    }

    private func anyDaemon() -> VirtualDaemon? {
        let alive = daemons.filter(\.isAlive)
        return alive.isEmpty ? nil : alive[world.chance.number(0...alive.count - 1)]
    }

    private func repeatedly(_ mean: Microseconds?, _ body: @escaping () -> Void) {
        guard let mean else { return }
        world.after(world.chance.time(mean / 2...mean * 3 / 2)) {
            guard self.world.now < self.scenario.chaosEnd else { return }
            body()
            self.repeatedly(mean, body)
        }
    }
}

extension Scenario {
    /// The scenario after the providers' faults have ended.
    var withoutProviderFaults: Scenario {
        var calm = self
        (calm.throttled, calm.serverError, calm.answerLost) = (0, 0, 0)
        (calm.requestLost, calm.notProcessed, calm.silent) = (0, 0, 0)
        return calm
    }
}
