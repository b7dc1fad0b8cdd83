internal import FanfareCampaigns
public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// What a campaign would send at its next due time, to which devices and when; nothing is sent.
public struct CampaignExplanation: Sendable {
    /// The number of time zones that the text shows at most.
    private static let zonesShown = 20

    let campaign: CampaignDefinition
    /// The file and line of the definition; nil for a stored campaign.
    let source: String?
    /// The stored campaign; nil if none is stored.
    let stored: CampaignRow?
    let run: NextRun.Row
    let audience: CampaignAudience
    let limits: SendingLimits
    /// One for each provider, variant and locale.
    let messages: [RuleExplanation]
    /// The forecast; nil if the audience is not counted.
    let forecast: SendingForecast?
    /// The zones in which the campaign's local time has passed; nil if all devices share one due time.
    let passed: PassedZones?

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
    private var warnings: [String] {
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
        object["first_at"] = forecast?.firstAt.map { JSONValue($0) } ?? .null
        object["last_at"] = forecast?.lastAt.map { JSONValue($0) } ?? .null
        object["seconds"] = JSONValue(orNull: forecast?.seconds)
        object["expired"] = JSONValue(orNull: forecast?.expired)
        object["warnings"] = .array(warnings.map(JSONValue.string))
        object["messages"] = .array(messages.map(\.json))
        return .object(object)
    }

    /// The explanation as text for people.
    public var text: String {
        let head =
            "\(campaign.app)/\(campaign.name)  \(source ?? stored.map { "\($0.state), version \($0.version)" } ?? "")"
        let lines = [source == nil ? stored?.note : nil, when, passedLine, "ttl: \(ttlText)"].compactMap(\.self)
        let all = lines + rates + audience.lines + course + warnings.map { "warning: \($0)" }
        let top = ([head] + all.map { "  " + $0 }).joined(separator: "\n")
        return ([top, zones].compactMap(\.self) + messages.map(\.text)).joined(separator: "\n\n")
    }

    private var ttlText: String {
        "\(campaign.timeToLive)" + (campaign.rule.definition.ttl == nil ? ", since it has none" : "")
    }

    private var rates: [String] {
        var rates = campaign.rate.map { ["rate: \($0.text)"] } ?? []
        rates += limits.app.map { ["rate of the app: \($0)/s"] } ?? []
        return rates + limits.providers.sorted { $0.key < $1.key }.map { "rate of \($0.key): \($0.value)/s" }
    }

    private var when: String {
        guard let schedule = campaign.schedule else { return "manual: as if it were started now" }
        guard let at = run.at, let wall = run.wall?.prefix(16) else {
            return "no further runs: as if it were started now"
        }
        return "next "
            + CampaignForecast.text(wall: String(wall), schedule.timeZone, at: at, isPast: at <= run.askedAt)
    }

    private var passedLine: String? {
        passed.flatMap { $0.isEmpty ? nil : $0.lines.joined(separator: "\n  ") }
    }

    /// When the campaign begins and ends.
    private var course: [String] {
        var lines: [String] = []
        if let forecast, let canary = forecast.canary {
            let judged = forecast.judgedAt.map { ", evaluated about \($0.minuteText)" } ?? ""
            lines.append("canary: about \(canary) device\(canary == 1 ? "" : "s") first\(judged)")
        }
        if let first = forecast?.firstAt, let last = forecast?.lastAt, let seconds = forecast?.seconds {
            let isLimited = forecast?.isLimited ?? false
            let end = isLimited ? "last" : "last due"
            let span = seconds == 0 ? "" : ", \(Self.text(seconds: seconds)) in all"
            let speed = isLimited ? "" : ", unthrottled"
            lines.append("first push \(first.minuteText), \(end) \(last.minuteText)\(span)\(speed)")
        } else if case .kept = audience {
            lines.append("sent \(run.firesAt.minuteText)")
        }
        return lines
    }

    /// The table of due times: a row for each time if the schedule goes by recipients' time, else a row for each time
    /// zone.
    private var zones: String? {
        guard let zones = audience.counts?.zones, !zones.isEmpty else { return nil }
        guard passed != nil else {
            var table = TextTable(["time zone", "devices", "clocks show"])
            let most = zones.sorted { ($1.devices, $0.text) < ($0.devices, $1.text) }
            for zone in most.prefix(Self.zonesShown) { table.append([zone.text, "\(zone.devices)", zone.wall]) }
            let others = most.dropFirst(Self.zonesShown)
            guard !others.isEmpty else { return table.text }
            table.append(["\(others.count) others", "\(others.reduce(0) { $0 + $1.devices })", ""])
            return table.text
        }
        var table = TextTable(["due", "devices", "time zones"])
        for (due, zones) in Dictionary(grouping: zones, by: \.dueAt).sorted(by: { $0.key < $1.key }) {
            let names = zones.prefix(3).map(\.text).joined(separator: ", ")
            let more = zones.count > 3 ? " and \(zones.count - 3) more" : ""
            table.append([due.minuteText, "\(zones.reduce(0) { $0 + $1.devices })", names + more])
        }
        return table.text
    }

    /// `26h 10m`, `3m 20s`: the two largest units.
    private static func text(seconds: Int64) -> String {
        let units: [(Int64, String)] = [(3600, "h"), (60, "m"), (1, "s")]
        let parts = units.enumerated().compactMap { index, unit -> String? in
            let count = index == 0 ? seconds / unit.0 : seconds % units[index - 1].0 / unit.0
            return count > 0 ? "\(count)\(unit.1)" : nil
        }
        return parts.prefix(2).joined(separator: " ")
    }
}
