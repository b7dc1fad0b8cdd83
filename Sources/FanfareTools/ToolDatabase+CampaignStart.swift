internal import FanfareCampaigns
public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// A campaign that was started by hand.
public struct CampaignStarted: Sendable {
    /// The occurrence's id.
    public let occurrenceID: Int64
    /// The event that was emitted; nil where none was.
    public let eventID: Int64?
    /// Why none was; nil where the campaign's query is read first.
    public let problem: String?
    /// How many devices it would have reached just before; nil where that was not counted.
    public let devices: Int64?

    /// All of it as JSON.
    public var json: JSONValue {
        [
            "occurrence_id": JSONValue(id: occurrenceID), "event_id": JSONValue(id: eventID),
            "problem": JSONValue(orNull: problem), "devices": JSONValue(orNull: devices),
        ]
    }

    /// The same on one line, for people.
    public var text: String {
        guard let eventID else {
            guard problem != nil else { return "occurrence \(occurrenceID), whose query is read now" }
            return "occurrence \(occurrenceID) failed: \(TextTable.printable(problem ?? "no event was emitted"))"
        }
        return "occurrence \(occurrenceID), event \(eventID)" + (devices.map { ", devices: \($0)" } ?? "")
    }
}

/// How many devices a campaign would reach if it were started now.
package enum CampaignReach: Sendable, Equatable {
    case devices(Int64)
    /// Nobody can say beforehand; why, for people.
    case unknown(String)
    /// It cannot be started; starting it says why.
    case nobody
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
        let fate = try await change(once: once) { connection throws(PostgresError) -> (OccurrenceRow?, Int64?) in
            guard let id = try connection.run(start).first ?? nil else { return (nil, nil) }
            // Its row is not seen by the statement that makes it.
            return (try connection.run(FindOccurrence(id: id)).first, devices)
        } ids: { occurrence, devices in
            // A repeated request is answered what the first one was.
            occurrence.map { [$0.id] + (devices.map { [$0] } ?? []) } ?? []
        } again: { connection, ids throws(PostgresError) in
            (try connection.run(FindOccurrence(id: ids[0])).first, ids.count > 1 ? ids[1] : nil)
        } action: { occurrence, _ in
            occurrence.map { ToolAction("campaign.start", "\(app)/\(name): \($0.id)") }
        }
        return try fate.map { occurrence, devices throws(ToolError) in
            guard let occurrence else {
                throw ToolError(.failed, "it was started at the very same moment", hint: "Try again.")
            }
            return CampaignStarted(
                occurrenceID: occurrence.id,
                eventID: occurrence.eventID,
                problem: occurrence.detail,
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
        case .devices(let devices) where devices <= Self.unconfirmedDevices: return devices
        case .devices(let devices):
            throw ToolError(
                .usage,
                "it would reach \(devices) devices now; nothing was started",
                hint: "Add --yes if that is meant."
            )
        case .unknown(let reason):
            throw ToolError(
                .usage,
                "how many it would reach is not known: \(reason); nothing was started",
                hint: "Add --yes to start it all the same."
            )
        case .nobody: return nil
        }
    }

    /// Counts whom a campaign would reach now.
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
        guard definition.payloadSQL == nil else { return .unknown("payload_sql says how many events there are") }
        let payload = definition.payload(with: own, at: Timestamp(microseconds: Clocks.wallSeconds * 1_000_000))
        let set = RuleSet(entries: [.init(source: nil, compiled: definition.rule)])
        let judged = try await judge(set, ExampleEvent(payload: JSONValue.object(payload).text), configuration)
        return switch judged.first?.audience {
        case .counted(let counts): .devices(counts.devices)
        case .kept(let provider): .unknown("\(provider.rawValue) keeps the audience")
        case .asked: .unknown("audience_sql says whom")
        case .problem(let problem): .unknown(TextTable.printable(problem))
        case nil: .nobody
        }
    }
}
