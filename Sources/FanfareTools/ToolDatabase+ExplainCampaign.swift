internal import FanfareCampaigns
package import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareService
internal import FanfareStore
package import PostgresClient

extension ToolDatabase {
    /// Explains what a campaign would send at its next due time, to which devices and when; changes nothing.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - set: the campaigns of files to search; nil for the stored campaign.
    ///   - payload: a JSON object as text, laid over the campaign's own payload.
    ///   - configuration: supplies the credentials to compare with the audience.
    ///   - now: the time to explain it at; nil for the database's time.
    /// - Returns: the explanation.
    /// - Throws: ``ToolError``, also if there is no such campaign; of kind `usage` if the payload is not a JSON object.
    package func explainCampaign(
        app: String,
        name: String,
        in set: CampaignSet?,
        payload: String,
        _ configuration: Configuration,
        at now: Timestamp? = nil
    ) async throws(ToolError) -> CampaignExplanation {
        let own = try ToolJSON.object(payload, named: "--payload")
        let chosen = try await choose(RuleID(app: app, name: name), in: set)
        let able = Providers.serving(configuration.apps[app])
        let (run, audience, limits) = try await run { connection throws(PostgresError) in
            // The session's settings must not reach the next caller.
            defer { connection.close() }
            connection.allowAnswers(within: .seconds(15))
            try connection.set(
                SessionSettings([("default_transaction_read_only", "on"), ("statement_timeout", "60s"), ("jit", "off")])
            )
            let next = try NextRun.Row(chosen, at: now, on: connection)
            let reader = AudienceReader(connection: connection, campaign: chosen.definition, able: able)
            let policy = try reader.policy()
            let limits = SendingLimits(policy, lane: chosen.definition.rule.definition.lane)
            return (next, try reader.audience(of: next, payload: own, policy), limits)
        }
        let messages = try await RenderThread.run { () throws(ToolError) in
            try chosen.definition.messages(own, run, for: audience) { configuration.apps[$0]?.apns?.topic }
        }
        return CampaignExplanation(chosen, run, audience, limits, messages)
    }

    private func choose(_ id: RuleID, in set: CampaignSet?) async throws(ToolError) -> ChosenCampaign {
        let row = try await rows(of: SQL.storedCampaigns([id.app], id.name)).first
        if let set {
            guard let entry = set.entries.first(where: { $0.id == id }) else {
                let known = set.entries.map { "\($0.id.app)/\($0.id.name)" }.joined(separator: ", ")
                throw ToolError(.failed, "the file has no campaign \(id.app)/\(id.name)", hint: "It has: \(known).")
            }
            return ChosenCampaign(
                definition: entry.definition,
                source: entry.source.map { "\($0.file):\($0.line)" },
                stored: row
            )
        }
        guard let row else { throw Self.noCampaign(id.app, id.name) }
        do throws(RuleProblem) {
            let definition = try CampaignDefinition(json: row.inForce ?? row.newest)
            return ChosenCampaign(definition: definition, source: nil, stored: row)
        } catch {
            throw ToolError(.failed, "the campaign makes no sense to this version of Fanfare: \(error.description)")
        }
    }
}

extension NextRun.Row {
    /// Finds when a campaign is due next: from the version in force, if that has the schedule.
    ///
    /// - Parameters:
    ///   - chosen: the campaign.
    ///   - now: the time to start from; nil for the database's time.
    ///   - connection: a session of the database that stores it.
    /// - Throws: database errors.
    init(_ chosen: ChosenCampaign, at now: Timestamp?, on connection: PostgresConnection) throws(PostgresError) {
        let schedule = chosen.definition.schedule
        var standing = NextRun.Standing.new
        if let stored = chosen.stored, let inForce = stored.schedule, inForce == schedule,
            ["active", "ended"].contains(stored.state)
        {
            standing = .inForce(next: stored.nextAt)
        }
        let catchUp = (schedule?.catchUp ?? .latest).rawValue
        let statement = NextRun(schedule?.stored, catchUp: catchUp, standing, at: now)
        guard let row = try connection.run(statement).first else {
            throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
        }
        self = row
    }
}

/// Counts the audience that a campaign would reach.
struct AudienceReader {
    /// The SQLSTATE of a statement that exceeded its time limit.
    private static let timedOut = "57014"
    /// The SQLSTATE of a statement that its role may not run.
    private static let forbidden = "42501"

    let connection: PostgresConnection
    let campaign: CampaignDefinition
    /// The providers that the configuration has credentials for.
    let able: Set<String>
    /// The time limit for counting suppressed devices; nil for none.
    var patience: Duration?

    /// Returns the app's policy.
    ///
    /// - Returns: the stored policy; nil if the app has none.
    /// - Throws: database errors.
    func policy() throws(PostgresError) -> JSONValue? {
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
    func audience(
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
        let example = ExampleEvent(payload: "")
        let context = campaign.rule.exampleContext(example, payload, now: begin.microseconds / 1_000_000)
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

extension CampaignDefinition {
    /// Renders the messages of a campaign: for each locale and variant, through each provider that reaches a device.
    ///
    /// - Parameters:
    ///   - own: the payload to lay over the campaign's own.
    ///   - run: the run.
    ///   - audience: the audience.
    ///   - topic: the APNs topic of an app; nil if it is unknown.
    /// - Returns: one explanation for each message.
    /// - Throws: ``ToolError``.
    fileprivate func messages(
        _ own: JSONObject,
        _ run: NextRun.Row,
        for audience: CampaignAudience,
        topic: (String) -> String?
    ) throws(ToolError) -> [RuleExplanation] {
        let set = RuleSet(rule)
        let payload = payload(with: own, at: run.at ?? run.firesAt)
        var example = ExampleEvent(payload: JSONValue.object(payload).text)
        // A placeholder for the user.
        example.userID = "…"
        example.variables = audience.counts?.variables ?? JSONObject()
        let reached = Set(audience.counts?.sum.providers.map(\.name) ?? [])
        var messages: [RuleExplanation] = []
        for locale in [nil] + rule.definition.locales.keys.map(Optional.some) {
            example.locale = locale
            messages += try set.explain(example, topic: topic)
        }
        return messages.filter { reached.isEmpty || reached.contains($0.provider.rawValue) }
    }
}
