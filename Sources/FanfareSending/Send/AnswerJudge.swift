internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import PushCrypto
internal import PushTransport
internal import Threading

/// Converts the transport's result of a request into an outcome and a follow-up.
struct AnswerJudge {
    let shared: SenderShared
    let context: StageContext
    let schedule: RetrySchedule
    let deliveryLogging: Configuration.Log.Deliveries
    /// Whether the provider has one endpoint and accepted pushes are not logged.
    private let isPlain: Bool

    /// Creates a judge with the current settings.
    init(shared: SenderShared, context: StageContext) {
        self.shared = shared
        self.context = context
        let settings = context.settings
        schedule = RetrySchedule(maximumAttempts: settings.maximumAttempts)
        deliveryLogging = settings.deliveryLogging
        isPlain = !shared.hasManyOrigins && !(deliveryLogging == .all)
    }

    /// Judges an answer, updates the breakers, and logs problems of the sender's configuration.
    func verdict(_ answer: PushAnswer, delivery: PreparedDelivery, batch: PreparedBatch, generation: Int) -> Verdict {
        let verdict = judge(answer, delivery: delivery, batch: batch)
        switch verdict.disposition {
        case .renewCredential:
            guard blame(delivery, of: batch, delivery.address.scope) else { return alone(verdict) }
            renew(generation, scope: delivery.address.scope, after: answer, verdict)
        case .retry(let retry) where retry.scope == .credential && retry.floor > 0:
            // An exhausted quota applies to all pushes. Further requests would use up the next one, and the provider
            // may block the sender.
            let why = BreakerReason(verdict.outcome, in: words(answer))
            shared.breakers.hold(delivery.address.scope, for: retry.floor, at: Clocks.steady, because: why)
        case .pause(let reach):
            let topic = reach == .topic ? batch.topic(of: delivery) : nil
            let scope = topic.map(BreakerScope.topic) ?? delivery.address.scope
            guard blame(delivery, of: batch, scope) else { return alone(verdict) }
            // A wrong credential or topic fails the next push too; probes detect when it is fixed.
            let why = BreakerReason(verdict.outcome, in: words(answer))
            shared.breakers.refused(scope, at: Clocks.steady, because: why)
            tell(.error, "the provider refuses this configuration", answer, verdict, delivery: delivery, batch: batch)
        case .callOperator:
            let message: Logger.Message = "the provider refuses this configuration for some devices"
            tell(.error, message, answer, verdict, delivery: delivery, batch: batch)
        default: break
        }
        if verdict.isUnrecognized {
            let message: Logger.Message = "unrecognized provider response; classified by HTTP status"
            tell(.warning, message, answer, verdict, delivery: delivery, batch: batch)
        }
        return verdict
    }

    /// Returns whether an answer is the most frequent kind: accepted by a provider with one endpoint, with nothing to
    /// log or follow up.
    func isPlainlyAccepted(_ answer: PushAnswer, batch: PreparedBatch) -> Bool {
        answer.fate == .answered && answer.status == 200 && isPlain
            && !batch.claimed.history.marks.contains(.otherEnvironment) && !batch.hasDoubted
    }

    /// Returns the result to record, with the follow-up for the close of the batch.
    func result(_ verdict: Verdict, delivery: PreparedDelivery, batch: PreparedBatch) -> DeliveryResult {
        // The common case avoids the clock and the random number, which cost a system call each.
        if verdict.outcome == .accepted && !batch.claimed.history.marks.contains(.otherEnvironment) {
            guard delivery.doubtedBy != nil else { return DeliveryResult(acceptedAt: delivery.position) }
            return DeliveryResult(position: delivery.position, outcome: .accepted, followUp: .trusted)
        }
        let decision = schedule.decide(
            verdict,
            history: batch.claimed.history,
            deadline: batch.variants[Int(delivery.variant)].deadline,
            now: context.lease.databaseNow,
            random: Clocks.unitRandom
        )
        switch decision {
        case .again(let at, let outcome, let history):
            var target = batch.target.id
            if case .tryOtherEnvironment(let otherwise) = verdict.disposition {
                guard let other = batch.otherTarget else {
                    return DeliveryResult(position: delivery.position, outcome: otherwise)
                }
                target = other
            }
            return DeliveryResult(
                position: delivery.position,
                outcome: outcome,
                followUp: .again(at: at, history: history, target: target)
            )
        case .final(let outcome):
            if case .prune(let evidence) = verdict.disposition {
                if evidence.mayBlameMessage, delivery.doubtedBy ?? batch.rule.ruleID == batch.rule.ruleID {
                    return DeliveryResult(
                        position: delivery.position,
                        outcome: outcome.keepingDevice,
                        followUp: .doubted
                    )
                }
                return DeliveryResult(position: delivery.position, outcome: outcome, followUp: .prune(evidence))
            }
            let isMove = outcome == .accepted && batch.claimed.history.marks.contains(.otherEnvironment)
            return DeliveryResult(position: delivery.position, outcome: outcome, followUp: isMove ? .moved : nil)
        }
    }

    /// Logs the outcome that was recorded for a delivery after an answer.
    func log(_ answer: PushAnswer, _ result: DeliveryResult, delivery: PreparedDelivery, batch: PreparedBatch) {
        let outcome = result.outcome
        guard deliveryLogging == .all || deliveryLogging == .failures && outcome != .accepted else { return }
        let message: Logger.Message = outcome == .accepted ? "push accepted" : "push not accepted"
        tell(.info, message, answer, outcome, isRecorded: true, delivery: delivery, batch: batch)
    }

    private var target: Target { shared.settings.target }

    private func judge(_ answer: PushAnswer, delivery: PreparedDelivery, batch: PreparedBatch) -> Verdict {
        let fate: UnansweredFate
        switch answer.fate {
        case .answered:
            if answer.status == 200 && !shared.hasManyOrigins { return .accepted }
            return shared.settings.pool.access.verdict(answer, in: attempt(delivery, of: batch)).naming(
                status: Int(answer.status)
            )
        case .notSent where answer.cause == .forbidden: fate = .forbidden
        case .notSent: fate = .notSent
        case .notProcessed:
            let access = shared.settings.pool.access
            if let told = access.verdict(onGoodbye: answer.body, in: attempt(delivery, of: batch)) { return told }
            fate = .notProcessed
        case .ambiguous: fate = .ambiguous
        }
        return Verdict(fate: fate, atMostOnce: batch.isAtMostOnce)
    }

    private func attempt(_ delivery: PreparedDelivery, of batch: PreparedBatch) -> AttemptContext {
        AttemptContext(
            history: batch.claimed.history,
            registeredAt: delivery.registeredAt,
            answeredAt: context.lease.databaseNow,
            plannedAt: batch.variants[Int(delivery.variant)].event.plannedAt.microseconds,
            hasOwnTopic: batch.variants[Int(delivery.variant)].push.hasOwnTopic,
            isInstallation: delivery.isInstallation,
            isForActivity: batch.variants[Int(delivery.variant)].push.isForActivity
        )
    }

    /// Returns whether a rejection is attributed to the sender rather than to this push alone.
    private func blame(_ delivery: PreparedDelivery, of batch: PreparedBatch, _ scope: BreakerScope) -> Bool {
        shared.breakers.blames(scope, push: batch.place(of: delivery))
    }

    /// Returns a final verdict for a push that is rejected while others are accepted.
    private func alone(_ verdict: Verdict) -> Verdict {
        Verdict(verdict.outcome, .final, replacesConnection: verdict.replacesConnection)
    }

    private func renew(_ generation: Int, scope: BreakerScope, after answer: PushAnswer, _ verdict: Verdict) {
        do throws(CryptoError) {
            let isRenewed = try shared.settings.pool.access.renew(
                after: generation,
                at: Clocks.steady,
                wall: Clocks.wall
            )
            guard !isRenewed else { return }
            let said = words(answer) ?? "status \(answer.status)"
            let advice = "not even a fresh credential is taken: look at the key, its ids and this machine's clock"
            let why = BreakerReason(verdict.outcome, in: "\(said); \(advice)")
            shared.breakers.refused(scope, at: Clocks.steady, because: why)
        } catch {
            let metadata = target.metadata([.error: "\(error)"])
            context.logger.error("a provider token could not be signed", metadata: metadata)
        }
    }

    private func tell(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ answer: PushAnswer,
        _ verdict: Verdict,
        delivery: PreparedDelivery,
        batch: PreparedBatch
    ) {
        tell(level, message, answer, verdict.outcome, isRecorded: false, delivery: delivery, batch: batch)
    }

    /// Logs a line about one push; unless every push is logged, the lines of one kind are limited.
    ///
    /// The line has an outcome only if it was recorded: an answer may also mean that the push waits, and the push is
    /// counted once.
    private func tell(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ answer: PushAnswer,
        _ outcome: Outcome,
        isRecorded: Bool,
        delivery: PreparedDelivery,
        batch: PreparedBatch
    ) {
        guard context.logger.logLevel <= level else { return }
        if deliveryLogging != .all {
            guard context.frequentLines.admit(batch.kind(level, message, outcome)) else { return }
        }
        var metadata = metadata(answer, outcome, delivery: delivery, batch: batch)
        if !isRecorded { metadata[.outcome] = nil }
        context.logger.log(level: level, message, metadata: metadata)
    }

    /// Returns the provider's own reason, if it gave one.
    private func words(_ answer: PushAnswer) -> String? {
        answer.fate == .answered ? shared.settings.pool.access.reason(answer) : nil
    }

    private func metadata(
        _ answer: PushAnswer,
        _ outcome: Outcome,
        delivery: PreparedDelivery,
        batch: PreparedBatch
    ) -> Logger.Metadata {
        var metadata = batch.line(about: delivery, outcome).metadata(now: context.lease.databaseNow)
        if answer.status != 0 { metadata[.status] = "\(answer.status)" }
        if !answer.detail.isEmpty { metadata[.error] = "\(answer.detail)" }
        // Without an answer the detail has more information and includes the reason.
        if let reason = words(answer) { metadata[.error] = "\(reason)" }
        return metadata
    }
}
