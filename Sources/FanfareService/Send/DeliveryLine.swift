internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import PushCrypto

/// What the log says of one delivery's attempt, whoever decided what became of it.
struct DeliveryLine {
    let batch: PreparedBatch
    /// Where the delivery stands in the batch.
    let position: Int
    let outcome: Outcome
    /// Nil if the log of events has it no more.
    let event: EventRow?
    /// Where it goes, of which a hash is logged; nil if the device has none any more.
    let token: String?
    /// Whose device it is, of whom a hash is logged; nil if it is nobody's, or there is no device.
    let user: String?

    /// The line's keys and values.
    ///
    /// - Parameter now: the time by the database, in microseconds since 1970.
    /// - Returns: the same keys for whoever decided, as far as they are known.
    func metadata(now: Microseconds) -> Logger.Metadata {
        let claimed = batch.claimed
        let rule = batch.rule.compiled.definition
        var metadata = Logger.Metadata([
            .app: "\(batch.target.app)", .provider: "\(batch.target.provider)",
            .environment: "\(batch.target.environment)", .eventID: "\(claimed.eventID(at: position))",
            .eventType: "\(rule.event)", .ruleName: "\(rule.name)", .batchID: "\(claimed.id)",
            .attempt: "\(claimed.attempt)", .deviceID: "\(claimed.deviceIDs[position])",
            .outcome: "\(outcome.outcome)", .reason: "\(outcome.reason)",
        ])
        if let token { metadata[.tokenHash] = "\(shortHash(token))" }
        if let user { metadata[.userHash] = "\(shortHash(user))" }
        if let event {
            metadata[.lagMilliseconds] = "\((now - event.createdAt.microseconds) / Micros.millisecond)"
            metadata[.traceID] = event.trace.map { "\($0.traceID)" }
        }
        return metadata
    }
}

extension PreparedBatch {
    /// What a line about one of its pushes has in common with others.
    func kind(_ level: Logger.Level, _ message: Logger.Message, _ outcome: Outcome) -> LineKind {
        LineKind(
            level: level,
            message: message.description,
            app: target.app,
            provider: target.provider,
            rule: rule.compiled.definition.name,
            reason: outcome.reason
        )
    }

    /// What the log says of a delivery that was to be sent.
    func line(about delivery: PreparedDelivery, _ outcome: Outcome) -> DeliveryLine {
        DeliveryLine(
            batch: self,
            position: Int(delivery.position),
            outcome: outcome,
            event: variants[Int(delivery.variant)].event,
            token: delivery.token,
            user: delivery.user
        )
    }
}

extension StageContext {
    /// Whether each outcome that Fanfare decides by itself gets a line; to be asked only where there is one.
    var logsDecisions: Bool { settings.deliveryLogging == .all && logger.logLevel <= .info }

    /// Logs an outcome that is no provider's; ask ``logsDecisions`` before.
    func logDecision(_ line: DeliveryLine) {
        logger.info("push decided by Fanfare", metadata: line.metadata(now: lease.databaseNow))
    }
}
