import FanfareCore

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages

/// The promises that hold at every moment.
extension Run {
    /// A request is put on the wire.
    func checkRequest(_ pair: Pair, from daemon: VirtualDaemon) {
        let rows = server.rows
        let ours = rows.batches.values.first { batch in
            batch.ruleVersion == pair.rule && batch.owner.map { daemon.owners.contains($0) } ?? false
                && batch.deviceIDs.indices.contains {
                    batch.deviceIDs[$0] == pair.device && batch.eventID(at: $0) == pair.event
                }
        }
        checkCampaign(pair, of: ours)
        if let cancelled = cancelledAt[pair.event], world.now > cancelled + Micros.second {
            broke("\(pair) was sent \(world.now - cancelled) µs after its cancellation")
        }
        if let event = rows.events[pair.event], let rule = SimulatedRule.numbered(pair.rule) {
            let due = ours?.dueAt ?? event.waiting.createdAt
            let deadline = Deadline(createdAt: due, ttl: rule.timeToLive(event.waiting.ttl))
            // It is looked at when the request is handed over, which may wait for a connection.
            if server.now > deadline.at + Micros.second {
                broke("\(pair) was sent \(server.now - deadline.at) µs after its deadline")
            }
        }
        // Claims that a server without power forgot are noticed with the control session, and a second more is allowed.
        guard world.now > server.lostPowerAt + 3 * Micros.second else { return }
        if ours == nil { broke("\(pair) was sent by a daemon that does not own it") }
    }

    /// What a daemon has on its way, or answered and not recorded, is never more than W.
    ///
    /// Counted by claim: what a daemon claims anew, after it lost its control session, may be repeated for that loss.
    func checkUnrecorded(_ pair: Pair, of daemon: VirtualDaemon) {
        daemon.unrecorded[pair] = claim(of: pair, by: daemon)
        guard daemon.unrecorded.count > scenario.unrecorded else { return }
        daemon.unrecorded = daemon.unrecorded.filter { claim(of: $0.key, by: daemon) == $0.value }
        if daemon.unrecorded.count > scenario.unrecorded { broke("\(daemon.unrecorded.count) pairs are not recorded") }
    }

    /// The token of the claim under which a daemon has a pair that is not recorded; nil if it has none.
    private func claim(of pair: Pair, by daemon: VirtualDaemon) -> Int64? {
        for batch in server.rows.batches.values
        where batch.ruleVersion == pair.rule && batch.owner.map({ daemon.owners.contains($0) }) ?? false {
            let isOpen = batch.deviceIDs.indices.contains { position in
                let isRecorded =
                    !batch.outcomes.isEmpty && batch.outcomes[position] != 0 && batch.outcomes[position] != 2
                return !isRecorded && batch.deviceIDs[position] == pair.device
                    && batch.eventID(at: position) == pair.event
            }
            if isOpen { return batch.leaseToken }
        }
        return nil
    }

    /// Rows were changed.
    func checkChange() {
        for id in server.rows.unfenced { broke("batch \(id) was written past the fence") }
        for owner in server.rows.instances.keys where server.rows.attempted(by: owner) > scenario.unrecorded {
            broke("\(server.rows.attempted(by: owner)) pairs are marked as attempted by \(owner)")
        }
        checkPrunes()
    }

    private func checkPrunes() {
        for id in server.takePruned() {
            guard let device = server.rows.devices[id], let token = provider.tokens[device.token] else { continue }
            if token.goneSince == nil && token.home != nil {
                broke("device \(id), whose token lives, was pruned for \(device.disabledReason ?? "?")")
            }
        }
    }
}

/// The promises that can be judged at the end.
extension Run {
    func checkEnd() {
        guard server.rows.isIdle else {
            let rows = server.rows
            broke(
                "stuck with \(rows.outbox.count) events, \(rows.plans.count) plans, \(rows.batches.values.map { $0 })"
            )
            return
        }
        for event in committed where server.rows.events[event] == nil { broke("event \(event) was lost") }
        for (event, row) in server.rows.events
        where !committed.contains(event) && row.waiting.type != Rows.DigestDefinition.digest {
            broke("event \(event) was never emitted")
        }
        checkKeys()
        let attempts = attemptsByPair()
        checkExpansion(attempts)
        checkOutcomes(attempts)
        checkRequests()
        checkGoneDevices()
        if combination != nil { checkSuppressionEnd() }
    }

    private func checkKeys() {
        let planned = server.rows.events.values.filter { $0.waiting.key != nil && $0.fate != .duplicate }
        let names = planned.map { "\($0.waiting.type)/\($0.waiting.key ?? "")" }
        if Set(names).count < names.count { broke("a key was planned twice: \(names)") }
    }

    private struct Attempt {
        let batch: Rows.Batch
        let outcome: Outcome
    }

    private func attemptsByPair() -> [Pair: [Attempt]] {
        var attempts: [Pair: [Attempt]] = [:]
        for batch in server.rows.log.values.sorted(by: { $0.id < $1.id }) {
            for position in batch.deviceIDs.indices {
                let pair = Pair(
                    event: batch.eventID(at: position),
                    rule: batch.ruleVersion,
                    device: batch.deviceIDs[position]
                )
                let outcome = Outcome(rawValue: batch.outcomes[position])
                attempts[pair, default: []].append(Attempt(batch: batch, outcome: outcome))
            }
        }
        return attempts
    }

    /// Every (event, rule version) is expanded exactly once.
    private func checkExpansion(_ attempts: [Pair: [Attempt]]) {
        for (pair, tries) in attempts where tries.count(where: { $0.batch.parentID == nil }) != 1 {
            broke("\(pair) was planned \(tries.count { $0.batch.parentID == nil }) times")
        }
        for (id, event) in server.rows.events where event.fate == .planned && cancelledAt[id] == nil {
            for rule in SimulatedRule.all where rule.event == event.waiting.type {
                let deadline = Deadline(
                    createdAt: event.waiting.createdAt,
                    ttl: rule.timeToLive(event.waiting.ttl)
                )
                guard deadline.at > event.plannedAt else { continue }
                for device in server.rows.devices.values
                where (rule.isForEveryone || event.waiting.users.contains(device.user)) && everEnabled(device) {
                    let pair = Pair(event: id, rule: rule.id, device: device.id)
                    if attempts[pair] == nil { broke("\(pair) was never planned") }
                }
            }
        }
    }

    /// Whether nobody ever had a reason to disable the device.
    private func everEnabled(_ device: Rows.Device) -> Bool {
        device.disabledReason == nil && device.registeredAt < Server.epoch
    }

    /// Each pair has one final outcome, and it is true.
    private func checkOutcomes(_ attempts: [Pair: [Attempt]]) {
        var accepted: Set<Pair> = []
        for request in provider.requests where request.ending == .accepted { accepted.insert(request.pair) }
        for (pair, tries) in attempts {
            let finals = tries.filter { $0.outcome.range.isFinal }
            guard finals.count == 1, let outcome = finals.first?.outcome else {
                broke("\(pair) has outcomes \(tries.map(\.outcome))")
                continue
            }
            let rule = SimulatedRule.numbered(pair.rule)
            switch outcome {
            case .accepted where !accepted.contains(pair): broke("\(pair) was not accepted")
            case .cancelled where cancelledAt[pair.event] == nil: broke("\(pair) was not cancelled")
            case .aborted where campaigns[pair.event]?.abortedAt == nil: broke("\(pair) was not aborted")
            case .unknown where rule?.isAtMostOnce != true: broke("\(pair) is unknown")
            default: break
            }
        }
    }

    /// One request for each pair, one more for each answer that asks for it, and at most W for each loss.
    private func checkRequests() {
        var repeated = 0
        for (pair, requests) in Dictionary(grouping: provider.requests, by: \.pair) {
            let asked = requests.count { $0.ending == .again || $0.isAmbiguous }
            repeated += max(0, requests.count - 1 - asked)
            guard SimulatedRule.numbered(pair.rule)?.isAtMostOnce == true else { continue }
            // What was not known to be refused must not be sent again.
            for request in requests.dropLast() {
                let isSafe = request.isKnown && request.ending == .again && !request.isAmbiguous
                if !isSafe { broke("\(pair) was repeated though it promises at most once") }
            }
        }
        if repeated > losses * scenario.unrecorded { broke("\(repeated) requests were repeated in \(losses) losses") }
    }

    /// Who is gone, and was found gone, is disabled.
    private func checkGoneDevices() {
        for batch in server.rows.log.values {
            for position in batch.deviceIDs.indices where OutcomeRange(code: batch.outcomes[position]) == .gone {
                guard let device = server.rows.devices[batch.deviceIDs[position]] else { continue }
                let isBack = device.registeredAt >= Server.epoch
                if device.disabledReason == nil && !isBack { broke("device \(device.id) is gone and was not pruned") }
            }
        }
    }
}
