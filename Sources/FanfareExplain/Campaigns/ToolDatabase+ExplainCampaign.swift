internal import FanfareCampaigns
package import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareStore
package import FanfareTools
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
        let own = try ToolJSON.object(payload, as: .payload)
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
            try chosen.definition.messages(own, run, for: audience, configuration)
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

extension CampaignDefinition {
    /// Renders the messages of a campaign: for each locale and variant, through each provider that reaches a device.
    ///
    /// - Parameters:
    ///   - own: the payload to lay over the campaign's own.
    ///   - run: the run.
    ///   - audience: the audience.
    ///   - configuration: supplies the apps' identities.
    /// - Returns: one explanation for each message.
    /// - Throws: ``ToolError``.
    fileprivate func messages(
        _ own: JSONObject,
        _ run: NextRun.Row,
        for audience: CampaignAudience,
        _ configuration: Configuration
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
            messages += try set.explain(example) {
                configuration.apps[$0]?.apns?.topic
            } asksForPreview: {
                configuration.apps[$0]?.fcm?.usesAndroidV2 ?? false
            }
        }
        return messages.filter { reached.isEmpty || reached.contains($0.provider.rawValue) }
    }
}
