internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// Checks campaigns that were written through SQL and activates the valid ones.
///
/// An invalid one is rejected with the reason. Its previous version stays active, and other campaigns are not affected.
struct CampaignChecker {
    let logger: Logger

    /// Checks all pending drafts.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time; the schedule's next time is after it.
    /// - Throws: errors of the server.
    func check(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        for draft in try connection.run(SQL.campaignDrafts()) {
            try settle(draft, on: connection, at: now)
        }
    }

    private func settle(
        _ draft: CampaignDraft,
        on connection: PostgresConnection,
        at now: Timestamp
    ) throws(PostgresError) {
        var problem: String?
        do {
            let campaign = try CampaignDefinition(json: JSONValue(parsing: draft.definition))
            try take(draft, campaign.schedule?.expression, on: connection, at: now)
        } catch let error as RuleProblem {
            problem = error.description
        } catch let error as JSONSyntaxError {
            problem = "is not JSON: \(error)"
        } catch let error as PostgresError {
            guard error.isDataError else { throw error }
            problem = error.message
        } catch {
            preconditionFailure("nothing else is thrown")
        }
        guard let problem else { return }
        _ = try connection.runReturningCount(SQL.refuseCampaign(draft.id, draft.version, problem))
        logger.warning("campaign refused", metadata: draft.metadata.merging(.init([.detail: "\(problem)"])) { $1 })
    }

    private func take(
        _ draft: CampaignDraft,
        _ expression: CronExpression?,
        on connection: PostgresConnection,
        at now: Timestamp
    ) throws(PostgresError) {
        let fields = expression.map { String(decoding: $0.json.encoded, as: UTF8.self) }
        let take = SQL.takeCampaign(draft.id, draft.version, fields, now)
        guard try connection.run(take).first ?? false else { return }
        logger.notice("campaign in force", metadata: draft.metadata)
    }
}

extension CampaignDraft {
    fileprivate var metadata: Logger.Metadata {
        Logger.Metadata([.app: "\(app)", .campaignName: "\(name)", .campaignVersion: "\(version)"])
    }
}
