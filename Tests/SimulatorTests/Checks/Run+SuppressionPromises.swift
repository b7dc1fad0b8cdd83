import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Checks of the promises about suppressions, at each decision and each request.
extension Run {
    /// Returns the quiet hours of a rule for a device; nil for none.
    private func oracle(_ rule: SimulatedRule, _ device: Int64) -> (hours: Rows.Hours, oracle: QuietOracle)? {
        let hours: Rows.Hours? =
            switch rule.loaded.compiled.definition.suppressions.hours {
            case .own(let own): Rows.Hours(from: own.from, until: own.until, isHeld: own.mode == .hold)
            case .ofApp where rule.lane != .transactional: server.rows.policy?.hours
            default: nil
            }
        return hours.map { ($0, QuietOracle($0, zone: server.rows.devices[device]?.zone)) }
    }

    /// Checks that a daemon decides about suppressions by the database's clock.
    func checkClock(_ now: Microseconds) {
        if abs(now - server.now) > Micros.second / 2 { broke("a claim goes by a clock \(now - server.now) µs ahead") }
    }

    /// Checks that a delivery counted for caps is neither held nor dropped for quiet hours.
    func checkCounted(_ deliveries: [CapTaker.Delivery], of batch: ClaimedBatch, at now: Microseconds) {
        guard let rule = SimulatedRule.numbered(batch.ruleVersion) else { return }
        for delivery in deliveries where oracle(rule, batch.deviceIDs[delivery.position])?.oracle.end(at: now) != nil {
            broke("event \(delivery.event) is counted for \(delivery.user), who sleeps")
        }
    }

    /// Records the events granted and refused to users; called by the statement.
    func noteGrants(_ take: TakeCaps, _ granted: [String]) {
        for (user, event) in zip(take.users, take.events) {
            guard granted.contains(user) else {
                ledger.refusals[user, default: [:]][event, default: world.now] += 0
                continue
            }
            guard ledger.grants[user]?.contains(where: { $0.event == event }) != true else { continue }
            ledger.grants[user, default: []].append(SuppressionLedger.Grant(event: event, at: world.now))
        }
    }

    /// Records a claim at a rate; called by the statement.
    func notePaced(_ token: Int64) { ledger.paced[token] = world.now }

    /// Checks a daemon's decisions about the deliveries of a batch.
    ///
    /// - Parameters:
    ///   - prepared: the decisions.
    ///   - now: the time of the decisions.
    func checkDecisions(_ prepared: BatchPreparer.Prepared, at now: Microseconds) {
        let batch = prepared.batch.claimed
        guard let rule = SimulatedRule.numbered(batch.ruleVersion) else { return }
        for position in prepared.batch.deliveries.map({ Int($0.position) }) {
            let delivery = delivery(position, of: batch)
            if let quiet = oracle(rule, delivery.device), quiet.oracle.end(at: now) != nil {
                broke("\(delivery) is to be sent in quiet hours")
            }
            if !rule.loaded.compiled.definition.suppressions.caps.isEmpty, !wasGranted(delivery) {
                broke("\(delivery) is to be sent and was not counted")
            }
        }
        for result in prepared.decided { check(result, of: batch, rule, at: now) }
    }

    private func delivery(_ position: Int, of batch: ClaimedBatch) -> Delivery {
        Delivery(event: batch.eventID(at: position), rule: batch.ruleVersion, device: batch.deviceIDs[position])
    }

    private func user(of delivery: Delivery) -> String { server.rows.devices[delivery.device]?.user ?? "" }

    private func wasGranted(_ delivery: Delivery) -> Bool {
        ledger.grants[user(of: delivery)]?.contains { $0.event == delivery.event } ?? false
    }

    /// Checks that a delivery was decided without a request for the recorded reason.
    private func check(_ result: DeliveryResult, of batch: ClaimedBatch, _ rule: SimulatedRule, at now: Microseconds) {
        let delivery = delivery(Int(result.position), of: batch)
        let quiet = oracle(rule, delivery.device)
        let wakes = quiet?.oracle.end(at: now)
        switch result.outcome {
        case .quiet where wakes == nil || quiet?.hours.isHeld != false:
            broke("\(delivery) was dropped in no quiet hours")
        case .heldQuiet:
            guard case .again(wakes, batch.history.held, batch.target)? = result.followUp, quiet?.hours.isHeld == true
            else {
                return broke("\(delivery) is held as \(result), it wakes at \(wakes ?? 0)")
            }
            let held = SuppressionLedger.Held(batch: batch.id, token: batch.leaseToken, position: Int(result.position))
            ledger.held[held] = wakes
        case .capped: checkCapped(delivery)
        case .expired, .expiredQuiet: checkExpired(delivery, dueAt: batch.dueAt?.microseconds, rule, wakes: wakes)
        default: break
        }
    }

    /// Checks that an expired delivery is past its deadline, or will be at the end of its quiet hours; its time to live
    /// runs from when it was due.
    private func checkExpired(_ delivery: Delivery, dueAt: Microseconds?, _ rule: SimulatedRule, wakes: Microseconds?) {
        guard let event = server.rows.events[delivery.event]?.waiting else { return }
        let deadline = Deadline(createdAt: dueAt ?? event.createdAt, ttl: rule.timeToLive(event.ttl)).at
        if server.now + Micros.second < deadline, wakes.map({ $0 < deadline }) ?? true {
            broke("\(delivery) expired \(deadline - server.now) µs before its deadline")
        }
    }

    /// Checks that a user is capped only after as many events as a cap allows.
    private func checkCapped(_ delivery: Delivery) {
        let refusedAt = ledger.refusals[user(of: delivery)]?[delivery.event] ?? world.now
        let others = ledger.grants[user(of: delivery), default: []].filter {
            $0.event != delivery.event && $0.at <= refusedAt
        }
        let isFull = server.rows.policy?.caps.contains { cap in
            // A grant counts from a second later, and a second may pass between the count and its report.
            others.count { $0.at >= refusedAt - cap.period - 2 * Micros.second } >= cap.count
        }
        if isFull != true { broke("\(delivery) was capped after \(others.count) others") }
    }

    /// Checks a request of a campaign that is put on the wire.
    ///
    /// - Parameters:
    ///   - delivery: the delivery.
    ///   - batch: its batch; nil if the server lost it.
    func checkCampaign(_ delivery: Delivery, of batch: Rows.Batch?) {
        guard let campaign = campaigns[delivery.event], let run = campaign.run else { return }
        let device = server.rows.devices[delivery.device]
        if let due = run.due[device?.zone ?? ""], server.now < due {
            broke("\(delivery) was sent \(due - server.now) µs before it was due")
        }
        if run.held != nil, !run.canary.contains(device?.user ?? ""),
            campaign.openedAt.map({ world.now < $0 }) ?? true
        {
            broke("\(delivery) was sent before its gate opened")
        }
        for (what, since) in [("aborted", campaign.abortedAt), ("paused", campaign.pausedAt)] {
            guard let since, world.now > since + Micros.second else { continue }
            broke("\(delivery) was sent \(world.now - since) µs after it was \(what)")
        }
        guard let token = batch?.leaseToken, deliveriesPerSecond != nil else { return }
        if ledger.paced[token] == nil { broke("\(delivery) was sent, and not claimed at its rate") }
        ledger.sent[token, default: []].insert(delivery)
    }
}

/// Checks of the promises about suppressions that can be judged only at the end.
extension Run {
    func checkSuppressionEnd() {
        checkHeld()
        checkCaps()
        checkRate()
        checkDigests()
    }

    /// Checks that held deliveries wait in the same queue, until their time, with their attempts.
    private func checkHeld() {
        let children = Dictionary(grouping: server.rows.log.values) { $0.parentID ?? 0 }
        for batch in server.rows.log.values {
            for position in batch.deviceIDs.indices where batch.outcomes[position] == Outcome.heldQuiet.rawValue {
                let (device, event) = (batch.deviceIDs[position], batch.eventID(at: position))
                let child = children[batch.id]?.first { child in
                    child.deviceIDs.indices.contains {
                        child.deviceIDs[$0] == device && child.eventID(at: $0) == event
                    }
                }
                let held = SuppressionLedger.Held(batch: batch.id, token: batch.leaseToken ?? 0, position: position)
                guard let child else { continue }
                let history = RetryHistory(encoded: batch.history).held.encoded
                let isSame =
                    (child.history, child.gate, child.target) == (history, batch.gate, batch.target)
                    && (child.isRetry, child.dueAt) == (batch.isRetry, batch.dueAt)
                if !isSame { broke("\(batch) was held as \(child)") }
                // The daemon's estimate of the database's clock is a little ahead.
                if let wakes = ledger.held[held], child.waitsUntil ?? 0 < wakes - Micros.second {
                    broke("event \(event) is held for device \(device) until \(child.waitsUntil ?? 0), not \(wakes)")
                }
            }
        }
    }

    /// Checks that no user gets more events than a cap allows within any interval of its period.
    private func checkCaps() {
        for (user, grants) in ledger.grants {
            for cap in server.rows.policy?.caps ?? [] {
                for (first, last) in zip(grants, grants.dropFirst(cap.count))
                where last.at - first.at < cap.period - Micros.millisecond
                    && !ledger.lostPower(from: first.at, to: last.at)
                {
                    broke("\(user) was granted \(cap.count + 1) events in \(last.at - first.at) µs")
                }
            }
        }
    }

    /// Checks that no interval has more deliveries than the rate and its unused credit allow.
    private func checkRate() {
        guard let deliveriesPerSecond else { return }
        let claims = ledger.sent.compactMap { token, deliveries in
            ledger.paced[token].map { (at: $0, deliveries: deliveries.count) }
        }
        .sorted { $0.at < $1.at }
        for begin in claims.indices {
            var sum = 0
            for end in claims[begin...] where !ledger.lostPower(from: claims[begin].at, to: end.at) {
                sum += end.deliveries
                let span = end.at - claims[begin].at + Rows.Rate.credit
                // The last batch may exceed the credit.
                guard Double(sum) > Double(span) / 1e6 * deliveriesPerSecond + 1.001 else { continue }
                return broke("\(sum) deliveries were sent in \(span) µs at a rate of \(deliveriesPerSecond)")
            }
        }
    }

    /// Checks that each gathered event is in one digest, and not sent before it is due.
    private func checkDigests() {
        let digests = server.rows.events.values.filter { $0.waiting.type == Rows.DigestDefinition.digest }
        for event in server.rows.events.values
        where event.waiting.type == Rows.DigestDefinition.type && event.fate == .planned {
            let own = digests.filter { $0.waiting.gathered.contains(event.waiting.id) }
            let isCancelled = cancelledAt[event.waiting.id] != nil
            guard own.count == 1 || isCancelled && own.isEmpty else {
                broke("event \(event.waiting.id) is in \(own.count) digests")
                continue
            }
            for digest in own where digest.waiting.users.first != event.waiting.users.first {
                broke("event \(event.waiting.id) is in a digest of \(digest.waiting.users)")
            }
        }
        for digest in digests {
            let times = digest.waiting.gathered.compactMap { server.rows.events[$0]?.plannedAt }
            if let first = times.min(), digest.waiting.createdAt < first + Rows.DigestDefinition.window {
                broke("digest \(digest.waiting.id) left early")
            }
        }
    }
}
