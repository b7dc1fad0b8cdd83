internal import FanfareLogging
internal import FanfareStore
package import Logging
package import PostgresClient

/// Puts campaigns into force, fires what is due, judges canaries, and notes what is done.
///
/// Works in turns, on the session of whoever has one; two that work at once do each other no harm: each occurrence is fired
/// by one transaction, which locks its campaign.
package struct Scheduler {
    /// How many are fired in one turn, so that others of the session come to work too.
    private static let limit = 200

    private let logger: Logger

    /// - Parameter logger: told what was fired.
    package init(logger: Logger) {
        self.logger = logger
    }

    /// Does what there is to do now.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - now: the database's time.
    /// - Returns: whether nothing that is due is left.
    /// - Throws: what the database says.
    package func takeTurn(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Bool {
        try CampaignChecker(logger: logger).check(on: connection, at: now)
        for verdict in try connection.run(JudgeCanaries(now: now)) { tell(verdict) }
        for ended in try connection.run(FinishOccurrences()) { tell(ended) }
        for _ in 0..<Self.limit {
            guard let fired = try connection.run(FireDue(now: now)).first else { return true }
            tell(fired)
        }
        return false
    }

    private func tell(_ fired: FiredOccurrence) {
        var metadata = Logger.Metadata([.app: "\(fired.app)", .campaignName: "\(fired.campaign)"])
        if let skippedAt = fired.skippedAt {
            logger.warning(
                "times of a campaign were missed, and are left out up to this one",
                metadata: metadata.merging(.init([.detail: "\(skippedAt)"])) { $1 }
            )
        }
        if let eventID = fired.eventID {
            metadata[.eventID] = "\(eventID)"
            logger.notice("campaign fired", metadata: metadata)
        } else if let problem = fired.problem {
            metadata[.detail] = "\(problem)"
            logger.error("campaign not fired", metadata: metadata)
        }
    }

    private func tell(_ verdict: CanaryVerdict) {
        let metadata = Logger.Metadata([
            .app: "\(verdict.app)", .campaignName: "\(verdict.campaign)", .eventID: "\(verdict.eventID)",
            .detail: "\(verdict.detail)",
        ])
        if verdict.hasPassed {
            logger.notice("the campaign's canary passed: it goes to all others", metadata: metadata)
        } else {
            logger.error("the campaign's canary failed: it goes to nobody else", metadata: metadata)
        }
    }

    private func tell(_ ended: EndedOccurrence) {
        var metadata = Logger.Metadata([
            .app: "\(ended.app)", .campaignName: "\(ended.campaign)", .eventID: "\(ended.eventID)",
        ])
        if let detail = ended.detail { metadata[.detail] = "\(detail)" }
        switch ended.state {
        case .done: logger.notice("campaign done", metadata: metadata)
        case .aborted: logger.notice("campaign aborted", metadata: metadata)
        case .failed: logger.error("campaign failed", metadata: metadata)
        }
    }
}
