internal import FanfareCampaigns
public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// A campaign that was started manually.
public struct CampaignStarted: Sendable {
    /// The run's id.
    public let runID: Int64
    /// The event that was emitted; nil where none was.
    public let eventID: Int64?
    /// Why none was; nil where the campaign's query is read first.
    public let problem: String?
    /// How many devices it would have reached just before; nil where that was not counted.
    public let devices: Int64?

    /// All of it as JSON.
    public var json: JSONValue {
        [
            "run_id": JSONValue(id: runID), "event_id": JSONValue(id: eventID),
            "problem": JSONValue(orNull: problem), "devices": JSONValue(orNull: devices),
        ]
    }

    /// The same on one line, for people.
    public var text: String {
        guard let eventID else {
            guard problem != nil else { return "run \(runID), whose query is read now" }
            return "run \(runID) failed: \(TextTable.printable(problem ?? "no event was emitted"))"
        }
        return "run \(runID), event \(eventID)" + (devices.map { ", devices: \($0)" } ?? "")
    }
}

/// How many devices a campaign would reach if it were started now.
package enum CampaignReach: Sendable, Equatable {
    case counted(Counted)
    /// Nobody can say beforehand; why, for people.
    case unknown(String)
    /// It cannot be started; starting it says why.
    case nobody

    /// An audience as `campaigns explain` counts it.
    package struct Counted: Sendable, Equatable {
        /// Enabled devices of the audience.
        package let audience: Int64
        /// Their users.
        package let users: Int64
        /// How many users the campaign's query names; nil where it has none.
        package let named: Int64?
        /// Devices that get nothing, and those that get it later, by reason; nil where they are too many to count in time.
        let suppressed: SuppressedCounts?

        /// Devices that get it, now or later.
        package var devices: Int64 { audience - (suppressed?.nothing ?? 0) }
        /// As in `296: held out 290, opted out 6`; nil where all get it.
        package var nothingText: String? { suppressed?.nothingText }
        /// As in `12: quiet hours 12`; nil where all that get it get it at once.
        package var laterText: String? { suppressed?.laterText }
        /// Whether those that get nothing were counted.
        package var isComplete: Bool { suppressed != nil }
    }
}

extension ToolDatabase {
    /// More devices than that are reached only by who says that it is meant.
    public static let unconfirmedDevices: Int64 = 1000

    /// Starts a campaign now, unless it would reach many and nobody confirmed that.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - payload: a JSON object as text, over the campaign's own.
    ///   - isConfirmed: whether it is started however many it reaches; then nobody is counted.
    ///   - once: by what the request is known again, for a token's; nil if it may come only once.
    ///   - configuration: whose credentials are compared with the audience.
    /// - Returns: what was started.
    /// - Throws: ``ToolError``; of kind `usage` if it would reach more than ``unconfirmedDevices``, or if that cannot be known,
    ///   and nobody confirmed it, and if the payload is no JSON object.
    public func startCampaign(
        app: String,
        name: String,
        payload: String,
        isConfirmed: Bool,
        once: RequestKey? = nil,
        _ configuration: Configuration
    ) async throws(ToolError) -> RequestFate<CampaignStarted> {
        let own = try ToolJSON.object(payload, named: "--payload")
        // What was started is told of, whomever it would reach now.
        let isSettled = isConfirmed ? true : try await knows(once)
        let devices = isSettled ? nil : try await audience(app, name, own, configuration)
        let start = StartCampaign(RuleID(app: app, name: name), payload: JSONValue.object(own).text)
        let fate = try await change(once: once) { connection throws(PostgresError) -> (RunRow?, Int64?) in
            guard let id = try connection.run(start).first ?? nil else { return (nil, nil) }
            // Its row is not seen by the statement that makes it.
            return (try connection.run(FindRun(id: id)).first, devices)
        } ids: { run, devices in
            // A repeated request is answered what the first one was.
            run.map { [$0.id] + (devices.map { [$0] } ?? []) } ?? []
        } again: { connection, ids throws(PostgresError) in
            (try connection.run(FindRun(id: ids[0])).first, ids.count > 1 ? ids[1] : nil)
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

    /// Counts whom a campaign would reach now, unless they are many; nil where nothing is in force.
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
                hint: "Add --yes if that is meant."
            )
        case .unknown(let reason):
            throw ToolError(
                .usage,
                "the number of recipients is unknown: \(reason); nothing was started",
                hint: "Add --yes to start it all the same."
            )
        case .nobody: return nil
        }
    }

    /// Counts whom a campaign would reach now, as `campaigns explain` does, with the rights of the program: a query is run as when it fires.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - own: what is put over its payload.
    ///   - configuration: whose credentials are compared with the audience.
    /// - Returns: the devices, or why they are not counted.
    /// - Throws: ``ToolError``, also if there is no such campaign.
    package func reach(
        app: String,
        campaign name: String,
        payload own: JSONObject = JSONObject(),
        _ configuration: Configuration
    ) async throws(ToolError) -> CampaignReach {
        let row = try await run { connection throws(PostgresError) in
            try connection.run(StoredCampaigns(apps: [app], name: name)).first
        }
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
        case .asked(let reason), .problem(let reason): .unknown(TextTable.printable(reason))
        }
    }

    /// The audience of a campaign that is started now.
    private func audience(
        of campaign: CampaignDefinition,
        payload own: JSONObject,
        _ configuration: Configuration
    ) async throws(ToolError) -> CampaignAudience {
        let able = Providers.serving(configuration.apps[campaign.app])
        return try await run { connection throws(PostgresError) in
            // Its settings would be the next caller's.
            defer { connection.close() }
            connection.allowAnswers(within: .seconds(15))
            try connection.set(
                SessionSettings([("default_transaction_read_only", "on"), ("statement_timeout", "10s"), ("jit", "off")])
            )
            guard let now = try connection.run(DatabaseNow()).first else {
                throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
            }
            var reader = AudienceReader(connection: connection, campaign: campaign, able: able)
            reader.patience = .seconds(5)
            // Who starts it by hand waits for no recipient's clock.
            let run = NextRun.Row(askedAt: now, at: nil, wall: nil)
            return try reader.audience(of: run, payload: own, reader.policy())
        }
    }
}
