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

/// The handling of answers.
extension SenderState {
    mutating func poll(_ timeout: Duration) {
        transport.poll(timeout: timeout, into: &answers)
        if !shared.hasManyOrigins { watchConnections(transport.state) }
        takeAnswers()
    }

    /// Updates the breaker of a provider's single endpoint from the state of the connections.
    private mutating func watchConnections(_ state: TransportState) {
        if state.established > established {
            established = state.established
            toldFailure = ""
            shared.breakers.update(.provider) { $0.connected() }
        }
        // While another connection works, it carries all requests.
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

    /// Logs why no connection can be opened: once, although it is tried every second.
    private mutating func tell(_ failure: String) {
        guard failure != toldFailure else { return }
        toldFailure = failure
        context.logger.warning("a provider could not be reached", metadata: target.metadata([.error: "\(failure)"]))
    }

    /// Logs a lost connection if requests on it were unanswered; other connections end all the time.
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
        // For the single endpoint of most providers, this avoids a look-up per answer.
        var health = ProviderTally()
        var accepted = 0
        var originHealth: [Endpoint: ProviderTally] = [:]
        // The budget slots of requests without a recorded outcome, and the number of requests that were never made.
        var unused: [BudgetShare: Int] = [:]
        var returned = 0
        for answer in answers {
            let index = Int(answer.tag)
            guard let slot = slots[index] else { continue }
            slots[index] = nil
            freeSlots.append(index)
            // The most frequent case, without access to the delivery.
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
        // Requests are counted here, because what the transport returns unsent was no request.
        let judged = answers.count - returned
        if judged > 0 { requests.increment(by: judged) }
        shared.retries.withLock { $0.answered(judged, at: Clocks.steady) }
        answers.removeAll(keepingCapacity: true)
    }

    /// Updates the breakers that wait for the answer, or the breaker of the service that it comes from.
    private func tell(_ slot: Slot, _ verdict: Verdict, _ originHealth: inout [Endpoint: ProviderTally]) {
        let now = Clocks.steady
        let device = slot.active.batch.device(of: slot.active.batch.deliveries[slot.delivery])
        let isHeld = slot.probed.contains(.device(device))
        for scope in slot.probed {
            // If a failing device fails again, this says nothing about its host.
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

    /// Records that a request to a device is no longer in flight.
    private mutating func leftFlight(_ device: Int64) {
        let others = inFlight[device, default: 1] - 1
        inFlight[device] = others > 0 ? others : nil
        quietSince[.device(device)] = nil
    }

    /// Reports the results of a poll to the breakers of the provider or of its services.
    private func report(_ health: ProviderTally, _ originHealth: [Endpoint: ProviderTally]) {
        let now = Clocks.steady
        if !health.isEmpty {
            shared.breakers.update(.provider, because: health.why) { health.report(to: &$0, at: now) }
        }
        for (origin, tally) in originHealth where !tally.isEmpty {
            shared.breakers.update(.origin(origin), because: tally.why) { tally.report(to: &$0, at: now) }
        }
    }

    /// Releases the budget slots of requests without a recorded outcome.
    private func giveBack(_ unused: [BudgetShare: Int]) {
        guard !unused.isEmpty else { return }
        budget.release(unused)
    }

    /// Updates the breaker of one of many origins from a request's connection.
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
    /// Returns the result of a probe for a scope.
    ///
    /// A service's breaker opens for throttling only if many devices are throttled; a probe that is throttled shows
    /// that this continues.
    fileprivate func health(of scope: BreakerScope) -> ProviderHealth {
        guard case .origin = scope, health == .throttled else { return health }
        return .failed
    }
}

/// The results of one poll for a provider or service.
private struct ProviderTally {
    var accepted = 0
    private var failed = 0
    private var lastFailure: Outcome?

    var isEmpty: Bool { accepted + failed == 0 }

    /// The reason of the last failure.
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
