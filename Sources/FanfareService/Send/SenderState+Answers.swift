internal import CoreMetrics
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport
internal import Threading

/// What comes back.
extension SenderState {
    mutating func poll(_ timeout: Duration) {
        transport.poll(timeout: timeout, into: &answers)
        if !shared.hasManyOrigins { watchConnections(transport.state) }
        takeAnswers()
    }

    /// Tells the breaker of a provider's one endpoint whether it can be reached.
    private mutating func watchConnections(_ state: TransportState) {
        if state.established > established {
            established = state.established
            toldFailure = ""
            shared.breakers.update(.provider) { $0.connected() }
        }
        // While another connection works, everything goes there.
        if state.failedConnectsInARow > failedConnects && state.open == 0 {
            let why = BreakerReason(.retryingNotSent, in: "\(state.lastConnectFailure)")
            shared.breakers.update(.provider, because: why) { $0.connectFailed() }
            tell(state.lastConnectFailure)
        }
        failedConnects = state.failedConnectsInARow
        if state.lost > lost {
            lost = state.lost
            tellOfLoss()
        }
    }

    /// Says why no connection can be had: once, though it is tried every second.
    private mutating func tell(_ failure: String) {
        guard failure != toldFailure else { return }
        toldFailure = failure
        context.logger.warning("a provider could not be reached", metadata: target.metadata([.error: "\(failure)"]))
    }

    /// Connections end all the time; worth a line is one that took the answers to pushes with it.
    private func tellOfLoss() {
        let unanswered = answers.filter { $0.fate == .ambiguous }
        guard let first = unanswered.first else { return }
        context.logger.notice(
            "provider connection lost; unanswered requests are sent again",
            metadata: target.metadata([.count: "\(unanswered.count)", .error: "\(first.detail)"])
        )
    }

    mutating func takeAnswers() {
        guard !answers.isEmpty else { return }
        let judge = AnswerJudge(shared: shared, context: context)
        // The one endpoint of most providers needs no look-up per answer.
        var health = ProviderTally()
        var accepted = 0
        var originHealth: [Endpoint: ProviderTally] = [:]
        // What requests took that are not recorded, and how many of them were never made.
        var unused: [BudgetShare: Int] = [:]
        var returned = 0
        for answer in answers {
            let index = Int(answer.tag)
            guard let slot = slots[index] else { continue }
            slots[index] = nil
            freeSlots.append(index)
            // Nearly every answer: what is known without a look at the delivery is not looked for.
            if slot.probed.isEmpty, judge.isPlainlyAccepted(answer, batch: slot.active.batch) {
                accepted += 1
                let position = slot.active.batch.deliveries[slot.delivery].position
                note(slot.active, DeliveryResult(acceptedAt: position), slots: 1)
                continue
            }
            let delivery = slot.active.batch.deliveries[slot.delivery]
            let origin = delivery.address.origin
            if let origin {
                watchOrigin(origin, answer)
                leftFlight(slot.active.batch.device(of: delivery))
            }
            if answer.isReturned {
                returned += 1
                unused[slot.active.batch.share, default: 0] += 1
                putBack(slot)
                continue
            }
            let verdict = judge.verdict(
                answer,
                delivery: delivery,
                batch: slot.active.batch,
                generation: slot.generation
            )
            if verdict.replacesConnection { transport.retire(answer.connection) }
            if verdict.disposition.refusesSender {
                unused[slot.active.batch.share, default: 0] += 1
                putBack(slot, last: true)
                continue
            }
            if slot.probed.isEmpty && origin == nil {
                health.count(verdict)
            } else {
                tell(slot, verdict, &originHealth)
            }
            let result = judge.result(verdict, delivery: delivery, batch: slot.active.batch)
            judge.log(answer, result, delivery: delivery, batch: slot.active.batch)
            note(slot.active, result, slots: 1)
        }
        if !shared.hasManyOrigins && answers.contains(where: { $0.fate == .answered }) {
            quietSince[.provider] = nil
        }
        health.accepted += accepted
        report(health, originHealth)
        giveBack(unused)
        // Counted when it is known: what the transport gives back never was a request.
        let judged = answers.count - returned
        if judged > 0 { requests.increment(by: judged) }
        shared.retries.withLock { $0.answered(judged, at: Clocks.steady) }
        answers.removeAll(keepingCapacity: true)
    }

    /// Tells the breakers that wait for an answer, or the one of the service that it comes from.
    private func tell(_ slot: Slot, _ verdict: Verdict, _ originHealth: inout [Endpoint: ProviderTally]) {
        let now = Clocks.steady
        let device = slot.active.batch.device(of: slot.active.batch.deliveries[slot.delivery])
        let isHeld = slot.probed.contains(.device(device))
        for scope in slot.probed {
            // A device that was failing says nothing about its host if it fails again.
            let isAlone = isHeld && scope != .device(device) && verdict.health != .accepted
            let health = isAlone ? .neutral : verdict.health(of: scope)
            shared.breakers.update(scope) { $0.probeEnded(health, at: now) }
        }
        guard let origin = slot.active.batch.deliveries[slot.delivery].address.origin else { return }
        let why = BreakerReason(verdict.outcome)
        if !isHeld { shared.breakers.record(device: device, verdict.health, at: now, because: why) }
        guard !slot.probed.contains(.origin(origin)) else { return }
        switch verdict.health {
        case .failed, .throttled:
            shared.breakers.update(.origin(origin), because: why) { $0.failed(device: device, at: now) }
        case .accepted, .neutral: originHealth[origin, default: ProviderTally()].count(verdict)
        }
    }

    /// Lets another request to a device be in flight.
    private mutating func leftFlight(_ device: Int64) {
        let others = inFlight[device, default: 1] - 1
        inFlight[device] = others > 0 ? others : nil
        quietSince[.device(device)] = nil
    }

    /// Tells the breakers how the provider, or each of its services, does.
    private func report(_ health: ProviderTally, _ originHealth: [Endpoint: ProviderTally]) {
        let now = Clocks.steady
        if !health.isEmpty {
            shared.breakers.update(.provider, because: health.why) { health.report(to: &$0, at: now) }
        }
        for (origin, tally) in originHealth where !tally.isEmpty {
            shared.breakers.update(.origin(origin), because: tally.why) { tally.report(to: &$0, at: now) }
        }
    }

    /// Gives back what requests took of which nothing is recorded.
    private func giveBack(_ unused: [BudgetShare: Int]) {
        guard !unused.isEmpty else { return }
        context.budget.release(unused)
    }

    /// Tells the breaker of one of many origins whether it can be reached.
    private mutating func watchOrigin(_ origin: Endpoint, _ answer: PushAnswer) {
        switch answer.cause {
        case .connect, .tls:
            let why = BreakerReason(.retryingNotSent, in: "\(answer.detail)")
            shared.breakers.update(.origin(origin), because: why) { $0.connectFailed() }
        case .none:
            quietSince[.origin(origin)] = nil
            shared.breakers.update(.origin(origin)) { $0.connected() }
        default: break
        }
    }

    mutating func note(_ active: ActiveBatch, _ result: DeliveryResult, slots: Int) {
        if active.results.isEmpty { touched.append(active) }
        active.results.append(result)
        active.slots += slots
    }

    mutating func report() {
        guard !touched.isEmpty else { return }
        let now = context.lease.databaseNow
        for active in touched {
            recorder.put(.results(active.batch.claimed.claim, active.results, slots: active.slots, at: now))
            active.results = []
            active.slots = 0
        }
        touched.removeAll(keepingCapacity: true)
    }
}

extension Verdict {
    /// What a probe says of what it was to find out about.
    ///
    /// Only many devices that have to wait stop one of many services; a probe that has to wait as well says that it goes on.
    fileprivate func health(of scope: BreakerScope) -> ProviderHealth {
        guard case .origin = scope, health == .throttled else { return health }
        return .failed
    }
}

/// What a poll's answers said about the provider.
private struct ProviderTally {
    var accepted = 0
    private var failed = 0
    private var lastFailure: Outcome?

    var isEmpty: Bool { accepted + failed == 0 }

    /// What the last failure was.
    var why: BreakerReason? { lastFailure.map { BreakerReason($0) } }

    mutating func count(_ verdict: Verdict) {
        switch verdict.health {
        case .accepted: accepted += 1
        case .failed:
            failed += 1
            lastFailure = verdict.outcome
        case .neutral, .throttled: break
        }
    }

    func report(to breaker: inout Breaker, at now: Microseconds) {
        if accepted > 0 { breaker.record(.accepted, count: accepted, at: now) }
        if failed > 0 { breaker.record(.failed, count: failed, at: now) }
    }
}
