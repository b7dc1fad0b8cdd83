package import FanfareCampaigns
public import FanfareCore
internal import FanfareProviders
package import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// What a campaign would send at its next due time, to which devices and when; nothing is sent.
public struct CampaignExplanation: Sendable {
    package let campaign: CampaignDefinition
    /// The file and line of the definition; nil for a stored campaign.
    package let source: String?
    /// The stored campaign; nil if none is stored.
    package let stored: CampaignRow?
    package let run: NextRun.Row
    package let audience: CampaignAudience
    package let limits: SendingLimits
    /// One for each provider, variant and locale.
    package let messages: [RuleExplanation]
    /// The forecast; nil if the audience is not counted.
    package let forecast: SendingForecast?
    /// What its experiment can find; nil without one, or if the audience is not counted.
    package let experiment: ExperimentForecast?
    /// The zones in which the campaign's local time has passed; nil if all devices share one due time.
    package let passed: PassedZones?

    init(
        _ chosen: ChosenCampaign,
        _ run: NextRun.Row,
        _ audience: CampaignAudience,
        _ limits: SendingLimits,
        _ messages: [RuleExplanation]
    ) {
        campaign = chosen.definition
        source = chosen.source
        stored = chosen.stored
        self.run = run
        self.audience = audience
        self.messages = messages
        self.limits = limits
        let zones = audience.counts?.zones
        forecast = audience.counts.map { [campaign] in
            SendingForecast($0.groups, from: run.firesAt, campaign, limits)
        }
        experiment = audience.counts.flatMap { [campaign] in ExperimentForecast(devices: $0.sum.devices, campaign) }
        passed = campaign.wall(of: run).flatMap { [campaign] _ in
            zones.map { PassedZones($0, from: run.firesAt, ttl: campaign.timeToLive) }
        }
    }

    /// Whether the campaign would send nothing: its rule or its time would be refused, its audience is unknown, or a
    /// message cannot be rendered.
    public var isRefused: Bool {
        switch audience {
        case .problem: return true
        // Messages are incomplete without the variables that the query returns.
        case .asked: return hasPassed
        case .counted, .kept: return hasPassed || messages.contains { $0.problem != nil }
        }
    }

    /// Whether the campaign's only time is over, so that it cannot be stored.
    private var hasPassed: Bool {
        guard let at = run.at, case .once? = campaign.schedule?.times, stored?.schedule != campaign.schedule
        else {
            return false
        }
        let span: Int64 = campaign.isByRecipientTime ? 27 * 3600 : 0
        return at.microseconds + span * 1_000_000 <= run.askedAt.microseconds
    }

    /// Likely mistakes that are not errors, a line each.
    package var warnings: [String] {
        var warnings: [String] = []
        if hasPassed { warnings.append("schedule.at has passed: it cannot be applied") }
        let late = passed?.tooLate.reduce(0) { $0 + $1.devices } ?? 0
        if let forecast, let counts = audience.counts, forecast.expired > late {
            warnings.append(
                "\(forecast.expired - late) of \(counts.sum.devices) devices would still wait when their ttl of "
                    + "\(campaign.timeToLive) is over, and expire"
            )
        }
        if forecast?.isRampWasted == true {
            warnings.append("the ramp begins when it is planned, and is over before the first push leaves")
        }
        if let experiment, experiment.isTooSmall {
            warnings.append(
                "the experiment names no winner: about \(experiment.smallestArm) devices get its smallest variant, "
                    + "and \(Experiment.leastRecipients) people are needed"
            )
        }
        return warnings
    }

    /// The explanation as JSON.
    public var json: JSONValue {
        var object = JSONObject()
        object["app"] = .string(campaign.app)
        object["name"] = .string(campaign.name)
        object["source"] = JSONValue(orNull: source)
        object["state"] = JSONValue(orNull: source == nil ? stored?.state : nil)
        object["scheduled_at"] = run.at.map { JSONValue($0) } ?? .null
        object["wall"] = JSONValue(orNull: run.wall)
        object["fires_at"] = JSONValue(run.firesAt)
        object["ttl_seconds"] = JSONValue(campaign.timeToLive.seconds)
        object["rate"] = campaign.rate?.json ?? .null
        object["app_rate"] = JSONValue(orNull: limits.app.map { Int64($0) })
        var byProvider = JSONObject()
        for (provider, limit) in limits.providers.sorted(by: { $0.key < $1.key }) {
            byProvider[provider] = JSONValue(Int64(limit))
        }
        object["provider_rates"] = .object(byProvider)
        object["audience"] = audience.json
        object["passed"] = passed?.json ?? .null
        object["canary"] = forecast?.canary.map { devices in
            ["devices": JSONValue(devices), "judged_at": forecast?.judgedAt.map { JSONValue($0) } ?? .null]
        }
        object["experiment"] = experiment?.json ?? .null
        object["first_at"] = forecast?.firstAt.map { JSONValue($0) } ?? .null
        object["last_at"] = forecast?.lastAt.map { JSONValue($0) } ?? .null
        object["seconds"] = JSONValue(orNull: forecast?.seconds)
        object["expired"] = JSONValue(orNull: forecast?.expired)
        object["warnings"] = .array(warnings.map(JSONValue.string))
        object["messages"] = .array(messages.map(\.json))
        return .object(object)
    }
}
