internal import FanfareCore
internal import Logging
internal import PostgresClient
internal import PushCrypto
internal import PushTransport
internal import Threading

/// Turns what the transport says of a request into a recorded outcome and what follows from it.
struct AnswerJudge {
    let shared: SenderShared
    let context: StageContext
    let schedule: RetrySchedule
    let deliveryLogging: Configuration.Log.Deliveries

    /// Takes the settings as they are now.
    init(shared: SenderShared, context: StageContext) {
        self.shared = shared
        self.context = context
        let settings = context.settings
        schedule = RetrySchedule(maximumAttempts: settings.maximumAttempts)
        deliveryLogging = settings.deliveryLogging
    }

    /// Judges an answer, and logs it where it was not taken.
    func verdict(_ answer: PushAnswer, pair: PreparedPair, batch: PreparedBatch, generation: Int) -> Verdict {
        let verdict = judge(answer, pair: pair, batch: batch)
        switch verdict.disposition {
        case .renewCredential: renew(generation, scope: pair.address.scope, after: answer)
        case .retry(let retry) where retry.scope == .credential && retry.floor > 0:
            hold(pair.address.scope, for: retry.floor, because: verdict)
        case .pause(let reach), .holdBack(let reach):
            let topic = reach == .topic ? batch.variants[Int(pair.variant)].push.topic : nil
            // A credential or a topic that is wrong is wrong for the next push too: probes find out when it is mended.
            shared.breakers.refused(topic.map(BreakerScope.topic) ?? pair.address.scope, at: Clocks.steady)
            context.logger.error(
                "the provider refuses this configuration",
                metadata: metadata(answer, verdict, pair: pair, batch: batch)
            )
            return verdict
        case .callOperator:
            context.logger.error(
                "the provider refuses this configuration for some devices",
                metadata: metadata(answer, verdict, pair: pair, batch: batch)
            )
            return verdict
        default: break
        }
        log(answer, verdict, pair: pair, batch: batch)
        return verdict
    }

    /// What is recorded, and what the close of the batch does.
    func result(_ verdict: Verdict, pair: PreparedPair, batch: PreparedBatch) -> PairResult {
        // Nearly every answer: no clock is read for it and no random number drawn, which is a system call each.
        if verdict.outcome == .accepted && !batch.claimed.history.marks.contains(.otherEnvironment) {
            return PairResult(position: pair.position, outcome: .accepted)
        }
        let decision = schedule.decide(
            verdict,
            history: batch.claimed.history,
            deadline: batch.variants[Int(pair.variant)].deadline,
            now: context.lease.databaseNow,
            random: Clocks.unitRandom
        )
        switch decision {
        case .again(let at, let outcome, let history):
            let target =
                verdict.disposition == .tryOtherEnvironment
                ? context.directory.otherEnvironment(of: batch.target) : batch.target.id
            guard let target else { return PairResult(position: pair.position, outcome: .apnsBadDeviceToken) }
            return PairResult(
                position: pair.position,
                outcome: outcome,
                followUp: .again(at: at, history: history, target: target)
            )
        case .final(let outcome):
            if case .prune(let evidence) = verdict.disposition {
                return PairResult(position: pair.position, outcome: outcome, followUp: .prune(evidence))
            }
            let isMove = outcome == .accepted && batch.claimed.history.marks.contains(.otherEnvironment)
            return PairResult(position: pair.position, outcome: outcome, followUp: isMove ? .moved : nil)
        }
    }

    /// Logs what is recorded of a pair where it is not what its answer's line says: the pair is given up.
    func log(_ result: PairResult, after verdict: Verdict, pair: PreparedPair, batch: PreparedBatch) {
        guard result.outcome != verdict.outcome, deliveryLogging == .all else { return }
        context.logDecision(batch.line(about: pair, result.outcome))
    }

    private var target: Target { shared.settings.target }

    private func judge(_ answer: PushAnswer, pair: PreparedPair, batch: PreparedBatch) -> Verdict {
        let fate: UnansweredFate
        switch answer.fate {
        case .answered:
            // Nearly every answer; the clock is not read for it.
            if answer.status == 200 && !shared.settings.hasManyOrigins { return .accepted }
            return shared.settings.access.verdict(answer, in: attempt(pair, of: batch))
        case .notSent where answer.cause == .forbidden: fate = .forbidden
        case .notSent: fate = .notSent
        case .notProcessed:
            let access = shared.settings.access
            if let told = access.verdict(onGoodbye: answer.body, in: attempt(pair, of: batch)) { return told }
            fate = .notProcessed
        case .ambiguous: fate = .ambiguous
        }
        return Verdict(fate: fate, atMostOnce: batch.isAtMostOnce)
    }

    private func attempt(_ pair: PreparedPair, of batch: PreparedBatch) -> AttemptContext {
        AttemptContext(
            history: batch.claimed.history,
            registeredAt: pair.registeredAt,
            answeredAt: context.lease.databaseNow,
            plannedAt: batch.variants[Int(pair.variant)].event.plannedAt.microseconds
        )
    }

    /// A quota that is used up is everybody's: asking on would only use up the next one, and can get a sender blocked.
    private func hold(_ scope: BreakerScope, for wait: Microseconds, because verdict: Verdict) {
        guard shared.breakers.hold(scope, for: wait, at: Clocks.steady) else { return }
        context.logger.warning(
            "the provider asks this sender to wait",
            metadata: target.metadata([
                .reason: "\(verdict.outcome.reason)", .durationMilliseconds: "\(wait / Micros.millisecond)",
            ])
        )
    }

    private func renew(_ generation: Int, scope: BreakerScope, after answer: PushAnswer) {
        do throws(CryptoError) {
            let isRenewed = try shared.settings.access.renew(
                after: generation,
                at: Clocks.steady,
                wall: Clocks.wall
            )
            // Once, not for each push that was under way.
            guard !isRenewed, shared.breakers.refused(scope, at: Clocks.steady) else { return }
            context.logger.error(
                "the provider does not take a fresh credential: look at the key, its ids and this machine's clock",
                metadata: target.metadata([.error: "\(shared.settings.access.reason(answer) ?? "\(answer.status)")"])
            )
        } catch {
            let metadata = target.metadata([.error: "\(error)"])
            context.logger.error("a provider token could not be signed", metadata: metadata)
        }
    }

    private func log(_ answer: PushAnswer, _ verdict: Verdict, pair: PreparedPair, batch: PreparedBatch) {
        if verdict.isUnrecognized {
            context.logger.warning(
                "an answer is in no table; it was judged by its status",
                metadata: metadata(answer, verdict, pair: pair, batch: batch)
            )
        }
        switch deliveryLogging {
        case .none: return
        case .failures where verdict.outcome == .accepted: return
        case .failures, .all:
            context.logger.info(
                verdict.outcome == .accepted ? "push accepted" : "push not accepted",
                metadata: metadata(answer, verdict, pair: pair, batch: batch)
            )
        }
    }

    private func metadata(
        _ answer: PushAnswer,
        _ verdict: Verdict,
        pair: PreparedPair,
        batch: PreparedBatch
    ) -> Logger.Metadata {
        var metadata = batch.line(about: pair, verdict.outcome).metadata(now: context.lease.databaseNow)
        if answer.status != 0 { metadata[.status] = "\(answer.status)" }
        if !answer.detail.isEmpty { metadata[.error] = "\(answer.detail)" }
        // Without an answer the detail says more, and the reason with it.
        if answer.fate == .answered, let reason = shared.settings.access.reason(answer) {
            metadata[.error] = "\(reason)"
        }
        return metadata
    }
}
