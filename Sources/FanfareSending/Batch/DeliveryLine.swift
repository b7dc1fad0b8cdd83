internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareProviders
package import FanfareStages
package import FanfareStore
package import Logging
internal import PostgresClient
internal import PushCrypto

/// A log line about one delivery's attempt, decided by the provider or by Fanfare.
package struct DeliveryLine {
    package let batch: PreparedBatch
    /// The delivery's position in the batch.
    package let position: Int
    package let outcome: Outcome
    /// The event; nil if the event log no longer has it.
    package let event: EventRow?
    /// The device's token, logged as a hash; nil if the device has none any more.
    package let token: String?
    /// The device's user, logged as a hash; nil if there is no user or no device.
    package let user: String?

    /// Makes the line of a delivery.
    package init(
        batch: PreparedBatch,
        position: Int,
        outcome: Outcome,
        event: EventRow?,
        token: String?,
        user: String?
    ) {
        (self.batch, self.position, self.outcome) = (batch, position, outcome)
        (self.event, self.token, self.user) = (event, token, user)
    }

    /// Returns the keys and values of the line.
    ///
    /// - Parameter now: the database's time, in microseconds since 1970.
    /// - Returns: the same keys for provider decisions and Fanfare's own, as far as their values are known.
    package func metadata(now: Microseconds) -> Logger.Metadata {
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
    /// Returns the kind by which lines about the batch's pushes are limited.
    package func kind(_ level: Logger.Level, _ message: Logger.Message, _ outcome: Outcome) -> LineKind {
        LineKind(
            level: level,
            message: message.description,
            app: target.app,
            provider: target.provider,
            rule: rule.compiled.definition.name,
            reason: outcome.reason
        )
    }

    /// Returns the log line of a prepared delivery.
    package func line(about delivery: PreparedDelivery, _ outcome: Outcome) -> DeliveryLine {
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
    /// Whether deliveries decided by Fanfare itself are logged; check it only if there is such a delivery, because it
    /// takes a lock.
    package var logsDecisions: Bool { settings.deliveryLogging == .all && logger.logLevel <= .info }

    /// Logs an outcome that no provider gave; callers check ``logsDecisions`` first.
    package func logDecision(_ line: DeliveryLine) {
        logger.info("push decided by Fanfare", metadata: line.metadata(now: lease.databaseNow))
    }
}
