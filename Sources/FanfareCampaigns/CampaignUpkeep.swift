internal import FanfareLogging
internal import FanfareStore
package import Logging
package import PostgresClient

/// The campaign tasks of the leader: activates campaigns, evaluates canaries and experiments, finishes runs.
package struct CampaignUpkeep {
    private let logger: Logger

    /// Creates the tasks.
    ///
    /// - Parameter logger: receives the results.
    package init(logger: Logger) {
        self.logger = logger
    }

    /// Runs all tasks once.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time.
    /// - Throws: errors of the server.
    package func takeTurn(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        try CampaignChecker(logger: logger).check(on: connection, at: now)
        for verdict in try connection.run(SQL.judgeCanaries(now)) { tell(verdict) }
        try ExperimentUpkeep(logger: logger).takeTurn(on: connection, at: now)
        for ended in try connection.run(SQL.finishRuns()) { tell(ended) }
    }

    private func tell(_ verdict: CanaryVerdict) {
        let metadata = Logger.Metadata([
            .app: "\(verdict.app)", .campaignName: "\(verdict.campaign)", .eventID: "\(verdict.eventID)",
            .detail: "\(verdict.detail)",
        ])
        if verdict.hasPassed {
            logger.notice("the campaign's canary passed; sending to the rest", metadata: metadata)
        } else {
            logger.error("the campaign's canary failed; the rest is held", metadata: metadata)
        }
    }

    private func tell(_ ended: EndedRun) {
        var metadata = Logger.Metadata([.app: "\(ended.app)", .campaignName: "\(ended.campaign)"])
        metadata[.eventID] = ended.eventID.map { "\($0)" }
        if let detail = ended.detail { metadata[.detail] = "\(detail)" }
        switch ended.state {
        case .done: logger.notice("campaign done", metadata: metadata)
        case .aborted: logger.notice("campaign aborted", metadata: metadata)
        case .failed: logger.error("campaign failed", metadata: metadata)
        }
    }
}
