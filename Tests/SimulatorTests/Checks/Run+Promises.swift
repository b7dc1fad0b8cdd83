import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Checks of the promises that hold at every moment.
extension Run {
    /// Checks a request that is put on the wire.
    func checkRequest(_ delivery: Delivery, from daemon: VirtualDaemon) {
        let rows = server.rows
        let ours = rows.batches.values.first { batch in
            batch.ruleVersion == delivery.rule && batch.owner.map { daemon.owners.contains($0) } ?? false
                && batch.deviceIDs.indices.contains {
                    batch.deviceIDs[$0] == delivery.device && batch.eventID(at: $0) == delivery.event
                }
        }
        checkCampaign(delivery, of: ours)
        if let cancelled = cancelledAt[delivery.event], world.now > cancelled + Micros.second {
            broke("\(delivery) was sent \(world.now - cancelled) µs after its cancellation")
        }
        if let event = rows.events[delivery.event], let rule = SimulatedRule.numbered(delivery.rule) {
            let due = ours?.dueAt ?? event.waiting.createdAt
            let deadline = Deadline(createdAt: due, ttl: rule.timeToLive(event.waiting.ttl))
            // The deadline is checked when the request is handed over, which may then wait for a connection.
            if server.now > deadline.at + Micros.second {
                broke("\(delivery) was sent \(server.now - deadline.at) µs after its deadline")
            }
        }
        // Claims that a server lost with its power are noticed with the control session, and one more second is
        // allowed.
        guard world.now > server.lostPowerAt + 3 * Micros.second else { return }
        if ours == nil { broke("\(delivery) was sent by a daemon that does not own it") }
    }

    /// Checks that a daemon's deliveries sent or answered but not recorded stay within the in-flight budget.
    ///
    /// Counted by claim: deliveries that a daemon claims again after it lost its control session may be repeated for
    /// that loss.
    func checkUnrecorded(_ delivery: Delivery, of daemon: VirtualDaemon) {
        daemon.unrecorded[delivery] = claim(of: delivery, by: daemon)
        guard daemon.unrecorded.count > scenario.unrecorded else { return }
        daemon.unrecorded = daemon.unrecorded.filter { claim(of: $0.key, by: daemon) == $0.value }
        if daemon.unrecorded.count > scenario.unrecorded {
            broke("\(daemon.unrecorded.count) deliveries are not recorded")
        }
    }

    /// Returns the token of the claim under which a daemon has an unrecorded delivery; nil if it has none.
    private func claim(of delivery: Delivery, by daemon: VirtualDaemon) -> Int64? {
        for batch in server.rows.batches.values
        where batch.ruleVersion == delivery.rule && batch.owner.map({ daemon.owners.contains($0) }) ?? false {
            let isOpen = batch.deviceIDs.indices.contains { position in
                let isRecorded =
                    !batch.outcomes.isEmpty && batch.outcomes[position] != 0 && batch.outcomes[position] != 2
                return !isRecorded && batch.deviceIDs[position] == delivery.device
                    && batch.eventID(at: position) == delivery.event
            }
            if isOpen { return batch.leaseToken }
        }
        return nil
    }

    /// Checks the rows after a change.
    func checkChange() {
        for id in server.rows.unfenced { broke("batch \(id) was written past the fence") }
        for owner in server.rows.instances.keys where server.rows.attempted(by: owner) > scenario.unrecorded {
            broke("\(server.rows.attempted(by: owner)) deliveries are marked as attempted by \(owner)")
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

/// Checks of the promises that can be judged only at the end.
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
        let attempts = attemptsByDelivery()
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

    private func attemptsByDelivery() -> [Delivery: [Attempt]] {
        var attempts: [Delivery: [Attempt]] = [:]
        for batch in server.rows.log.values.sorted(by: { $0.id < $1.id }) {
            for position in batch.deviceIDs.indices {
                let delivery = Delivery(
                    event: batch.eventID(at: position),
                    rule: batch.ruleVersion,
                    device: batch.deviceIDs[position]
                )
                let outcome = Outcome(rawValue: batch.outcomes[position])
                attempts[delivery, default: []].append(Attempt(batch: batch, outcome: outcome))
            }
        }
        return attempts
    }

    /// Checks that every (event, rule version) is expanded exactly once.
    private func checkExpansion(_ attempts: [Delivery: [Attempt]]) {
        for (delivery, tries) in attempts where tries.count(where: { $0.batch.parentID == nil }) != 1 {
            broke("\(delivery) was planned \(tries.count { $0.batch.parentID == nil }) times")
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
                    let delivery = Delivery(event: id, rule: rule.id, device: device.id)
                    if attempts[delivery] == nil { broke("\(delivery) was never planned") }
                }
            }
        }
    }

    /// Returns whether the device never had a reason to be disabled.
    private func everEnabled(_ device: Rows.Device) -> Bool {
        device.disabledReason == nil && device.registeredAt < Server.epoch
    }

    /// Checks that each delivery has one final outcome, and that it is true.
    private func checkOutcomes(_ attempts: [Delivery: [Attempt]]) {
        var accepted: Set<Delivery> = []
        for request in provider.requests where request.ending == .accepted { accepted.insert(request.delivery) }
        for (delivery, tries) in attempts {
            let finals = tries.filter { $0.outcome.range.isFinal }
            guard finals.count == 1, let outcome = finals.first?.outcome else {
                broke("\(delivery) has outcomes \(tries.map(\.outcome))")
                continue
            }
            let rule = SimulatedRule.numbered(delivery.rule)
            switch outcome {
            case .accepted where !accepted.contains(delivery): broke("\(delivery) was not accepted")
            case .cancelled where cancelledAt[delivery.event] == nil: broke("\(delivery) was not cancelled")
            case .aborted where campaigns[delivery.event]?.abortedAt == nil: broke("\(delivery) was not aborted")
            case .unknown where rule?.isAtMostOnce != true: broke("\(delivery) is unknown")
            default: break
            }
        }
    }

    /// Checks that each delivery has one request, one more for each response that asks for a retry, and that at most
    /// the in-flight budget is repeated per loss.
    private func checkRequests() {
        var repeated = 0
        for (delivery, requests) in Dictionary(grouping: provider.requests, by: \.delivery) {
            let asked = requests.count { $0.ending == .again || $0.isAmbiguous }
            repeated += max(0, requests.count - 1 - asked)
            guard SimulatedRule.numbered(delivery.rule)?.isAtMostOnce == true else { continue }
            // A request that is not known to be rejected must not be sent again.
            for request in requests.dropLast() {
                let isSafe = request.isKnown && request.ending == .again && !request.isAmbiguous
                if !isSafe { broke("\(delivery) was repeated though it promises at most once") }
            }
        }
        if repeated > losses * scenario.unrecorded { broke("\(repeated) requests were repeated in \(losses) losses") }
    }

    /// Checks that devices that were reported unregistered are disabled.
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
