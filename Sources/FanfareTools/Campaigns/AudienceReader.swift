package import FanfareCampaigns
package import FanfareCore
internal import FanfareProviders
package import FanfareRecords
internal import FanfareService
internal import FanfareStore
package import PostgresClient

/// Counts the audience that a campaign would reach.
package struct AudienceReader {
    /// The SQLSTATE of a statement that exceeded its time limit.
    private static let timedOut = "57014"
    /// The SQLSTATE of a statement that its role may not run.
    private static let forbidden = "42501"

    private let connection: PostgresConnection
    private let campaign: CampaignDefinition
    /// The providers that the configuration has credentials for.
    private let able: Set<String>
    /// The time limit for counting suppressed devices; nil for none.
    package var patience: Duration?

    package init(connection: PostgresConnection, campaign: CampaignDefinition, able: Set<String>) {
        (self.connection, self.campaign, self.able) = (connection, campaign, able)
    }

    /// Returns the app's policy.
    ///
    /// - Returns: the stored policy; nil if the app has none.
    /// - Throws: database errors.
    package func policy() throws(PostgresError) -> JSONValue? {
        try connection.run(SQL.storedPolicies([campaign.app])).first?.definition
    }

    /// Returns the time zone for devices that have none.
    private func defaultZone(_ policy: JSONValue?) -> String {
        campaign.schedule?.defaultTimeZone ?? policy?["time_zone"]?.stringValue ?? CampaignSchedule.utc
    }

    /// Counts the audience.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - own: the payload to lay over the campaign's own.
    ///   - policy: the app's policy.
    /// - Returns: the audience by provider and time zone, or why it is not counted.
    /// - Throws: database errors, except for an exceeded time limit.
    package func audience(
        of run: NextRun.Row,
        payload own: JSONObject,
        _ policy: JSONValue?
    ) throws(PostgresError) -> CampaignAudience {
        if campaign.payloadSQL != nil { return .asked("payload_sql returns its events when it runs") }
        let columns: RuleColumns
        switch try RuleChecker.columns(of: campaign.rule, on: connection) {
        case .success(let checked): columns = checked
        case .failure(let problem): return .problem("it would be refused: \(problem)")
        }
        let begin = run.firesAt
        let payload = campaign.payload(with: own, at: run.at ?? begin)
        let context = campaign.rule.exampleContext(payload, now: begin.microseconds / 1_000_000)
        let query: AudienceQuery?
        do throws(RenderProblem) {
            query = try AudienceQuery(
                campaign.rule.definition,
                campaign.rule.audience,
                path: columns.audiencePath,
                // Campaigns do not run a rule's `users_sql`.
                users: nil,
                campaignSQL: campaign.audienceSQL,
                context
            )
        } catch {
            return .problem(error.description)
        }
        guard let query else {
            return .kept(by: campaign.rule.definition.audience.selection.provider ?? campaign.rule.providers[0])
        }
        do {
            let (wall, zone) = (campaign.wall(of: run), defaultZone(policy))
            let cells = try query.cells(wall: wall, defaultZone: zone, at: begin, on: connection)
            let suppressed = try query.suppressions(
                by: campaign.rule.definition,
                AudienceTimes(from: begin, wall: wall, defaultZone: zone),
                isScanned: campaign.rule.isScanned,
                within: patience,
                on: connection
            )
            var counts = CampaignCounts(cells, SuppressedCounts(counts: suppressed ?? [:]), from: begin, able: able)
            counts.isComplete = suppressed != nil
            return .counted(counts)
        } catch {
            if error.sqlState == Self.timedOut { return .problem("it takes longer than a minute; it may be many") }
            guard campaign.audienceSQL != nil, error.sqlState != nil, !error.isTransient else { throw error }
            if error.sqlState == Self.forbidden, error.message.hasSuffix("function audience") {
                return .asked(
                    "audience_sql selects the audience when it runs; the role fanfare_daemon may run it before"
                )
            }
            return .problem("audience_sql: \(error.message)\(error.hint.map { " (\($0))" } ?? "")")
        }
    }
}
