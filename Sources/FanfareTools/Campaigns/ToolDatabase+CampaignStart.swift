internal import FanfareCampaigns
public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// The result of starting a campaign manually.
public struct CampaignStarted: Sendable {
    /// The run's id.
    public let runID: Int64
    /// The id of the emitted event; nil if none was emitted.
    public let eventID: Int64?
    /// Why no event was emitted; nil if the campaign's query runs first.
    public let problem: String?
    /// The number of devices counted just before the start; nil if they were not counted.
    public let devices: Int64?

    /// The result as JSON.
    public var json: JSONValue {
        [
            "run_id": JSONValue(id: runID), "event_id": JSONValue(id: eventID),
            "problem": JSONValue(orNull: problem), "devices": JSONValue(orNull: devices),
        ]
    }
}

/// The number of devices that a campaign would reach if it were started now.
package enum CampaignReach: Sendable, Equatable {
    case counted(Counted)
    /// The number cannot be known before the start; the reason, as text for people.
    case unknown(String)
    /// The campaign cannot be started; the attempt returns the reason.
    case nobody

    /// A counted audience, as in `campaigns explain`.
    package struct Counted: Sendable, Equatable {
        /// Enabled devices of the audience.
        package let audience: Int64
        /// Their users.
        package let users: Int64
        /// How many users the campaign's query returns; nil if it has none.
        package let named: Int64?
        /// Devices that get nothing or get the push later, by reason; nil if the count exceeded its time limit.
        let suppressed: SuppressedCounts?

        /// Devices that get the push, now or later.
        package var devices: Int64 { audience - (suppressed?.nothing ?? 0) }
        /// Devices that get nothing, as in `296: held out 290, opted out 6`; nil if all devices get the push.
        package var nothingText: String? { suppressed?.nothingText }
        /// Devices that get the push later, as in `12: quiet hours 12`; nil if there are none.
        package var laterText: String? { suppressed?.laterText }
        /// Whether the devices that get nothing were counted.
        package var isComplete: Bool { suppressed != nil }
    }
}

extension ToolDatabase {
    /// The number of devices above which a manual start must be confirmed.
    public static let unconfirmedDevices: Int64 = 1000

    /// Starts a campaign now, unless it would reach many devices and the caller has not confirmed that.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - payload: a JSON object as text, laid over the campaign's own payload.
    ///   - isConfirmed: whether to start it regardless of the number of devices, which is then not counted.
    ///   - once: the idempotency key of a token's request; nil if the request may be sent only once.
    ///   - configuration: supplies the credentials to compare with the audience.
    /// - Returns: the run.
    /// - Throws: ``ToolError``; of kind `usage` if it is unconfirmed and would reach more than ``unconfirmedDevices``
    ///   or an unknown number, and if the payload is not a JSON object.
    public func startCampaign(
        app: String,
        name: String,
        payload: String,
        isConfirmed: Bool,
        once: RequestKey? = nil,
        _ configuration: Configuration
    ) async throws(ToolError) -> RequestFate<CampaignStarted> {
        let own = try ToolJSON.object(payload, as: .payload)
        // A repeated request returns the first result, however many devices the campaign would reach now.
        let isSettled = isConfirmed ? true : try await knows(once)
        let devices = isSettled ? nil : try await audience(app, name, own, configuration)
        let start = SQL.startCampaign(
            RuleID(app: app, name: name).app,
            RuleID(app: app, name: name).name,
            JSONValue.object(own).text
        )
        let fate = try await change(once: once) { connection throws(PostgresError) -> (RunRow?, Int64?) in
            guard let id = try connection.run(start).first ?? nil else { return (nil, nil) }
            // The statement that creates the row does not see it, so a second one reads it.
            return (try connection.run(SQL.findRun(id)).first, devices)
        } ids: { run, devices in
            // The ids from which a repeated request restores the first answer.
            run.map { [$0.id] + (devices.map { [$0] } ?? []) } ?? []
        } again: { connection, ids throws(PostgresError) in
            (try connection.run(SQL.findRun(ids[0])).first, ids.count > 1 ? ids[1] : nil)
        } action: { run, _ in
            run.map { ToolAction("campaign.start", "\(app)/\(name): \($0.id)") }
        }
        return try fate.map { run, devices throws(ToolError) in
            guard let run else {
                throw ToolError(.failed, "it was started at the same moment", hint: "Try again.")
            }
            return CampaignStarted(
                runID: run.id,
                eventID: run.eventID,
                problem: run.detail,
                devices: devices
            )
        }
    }

    /// Counts the audience that a campaign would reach now, for the confirmation; nil if no version is in force.
    private func audience(
        _ app: String,
        _ name: String,
        _ own: JSONObject,
        _ configuration: Configuration
    ) async throws(ToolError) -> Int64? {
        switch try await reach(app: app, campaign: name, payload: own, configuration) {
        case .counted(let counted) where counted.devices <= Self.unconfirmedDevices: return counted.devices
        case .counted(let counted):
            throw ToolError(
                .usage,
                "it would reach \(counted.devices) devices now; nothing was started",
                subject: .unconfirmedStart(isCounted: true)
            )
        case .unknown(let reason):
            throw ToolError(
                .usage,
                "the number of recipients is unknown: \(reason); nothing was started",
                subject: .unconfirmedStart(isCounted: false)
            )
        case .nobody: return nil
        }
    }

    /// Counts the audience that a campaign would reach now, as `campaigns explain` does, with the rights of the
    /// program: its query runs as it does when the campaign fires.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - own: the payload to lay over the campaign's own.
    ///   - configuration: supplies the credentials to compare with the audience.
    /// - Returns: the counts, or why the devices are not counted.
    /// - Throws: ``ToolError``, also if there is no such campaign.
    package func reach(
        app: String,
        campaign name: String,
        payload own: JSONObject = JSONObject(),
        _ configuration: Configuration
    ) async throws(ToolError) -> CampaignReach {
        let row = try await rows(of: SQL.storedCampaigns([app], name)).first
        guard let row else { throw Self.noCampaign(app, name) }
        guard let inForce = row.inForce, row.state != "paused" else { return .nobody }
        guard let definition = try? CampaignDefinition(json: inForce) else {
            return .unknown("a newer version of Fanfare put the campaign into force")
        }
        let audience = try await asProgram.audience(of: definition, payload: own, configuration)
        return switch audience {
        case .counted(let counts):
            .counted(
                .init(
                    audience: counts.sum.devices,
                    users: counts.sum.users,
                    named: counts.named,
                    suppressed: counts.isComplete ? counts.sum.suppressed : nil
                )
            )
        case .kept(let provider): .unknown("\(provider.rawValue) manages the audience")
        case .asked(let reason), .problem(let reason): .unknown(reason.printable)
        }
    }

    /// Counts the audience of a campaign that is started now.
    private func audience(
        of campaign: CampaignDefinition,
        payload own: JSONObject,
        _ configuration: Configuration
    ) async throws(ToolError) -> CampaignAudience {
        let able = Providers.serving(configuration.apps[campaign.app])
        return try await run { connection throws(PostgresError) in
            // The session's settings must not reach the next caller.
            defer { connection.close() }
            connection.allowAnswers(within: .seconds(15))
            try connection.set(
                SessionSettings([("default_transaction_read_only", "on"), ("statement_timeout", "10s"), ("jit", "off")])
            )
            guard let now = try connection.run(SQL.databaseNow()).first else {
                throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
            }
            var reader = AudienceReader(connection: connection, campaign: campaign, able: able)
            reader.patience = .seconds(5)
            // A manual start does not wait for recipients' local time.
            let run = NextRun.Row(askedAt: now, at: nil, wall: nil)
            return try reader.audience(of: run, payload: own, reader.policy())
        }
    }
}
