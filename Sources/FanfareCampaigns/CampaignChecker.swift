internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// Judges campaigns that came through SQL, and puts the good ones into force.
///
/// A bad one is refused with its reason, what was in force before stays, and nobody else is stopped.
struct CampaignChecker {
    let logger: Logger

    /// Judges what waits.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - now: the database's time: a schedule is due after it.
    /// - Throws: what the database says.
    func check(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        for draft in try connection.run(CampaignDrafts()) {
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
            problem = "is no JSON: \(error)"
        } catch let error as PostgresError {
            guard error.isDataError else { throw error }
            problem = error.message
        } catch {
            preconditionFailure("nothing else is thrown")
        }
        guard let problem else { return }
        _ = try connection.runReturningCount(RefuseCampaign(id: draft.id, version: draft.version, reason: problem))
        logger.warning("campaign refused", metadata: draft.metadata.merging(.init([.detail: "\(problem)"])) { $1 })
    }

    private func take(
        _ draft: CampaignDraft,
        _ expression: CronExpression?,
        on connection: PostgresConnection,
        at now: Timestamp
    ) throws(PostgresError) {
        let fields = expression.map { String(decoding: $0.json.encoded, as: UTF8.self) }
        let take = TakeCampaign(id: draft.id, version: draft.version, cronFields: fields, now: now)
        guard try connection.run(take).first ?? false else { return }
        logger.notice("campaign in force", metadata: draft.metadata)
    }
}

extension CampaignDraft {
    fileprivate var metadata: Logger.Metadata {
        Logger.Metadata([.app: "\(app)", .campaignName: "\(name)", .campaignVersion: "\(version)"])
    }
}
