internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient

/// Whom a campaign would reach.
enum CampaignAudience: Sendable {
    /// Fanfare's own: counted.
    case counted(CampaignCounts)
    /// A provider keeps it: one request for all.
    case kept(by: PushProvider)
    /// A query says who when it fires, and is not asked here; why, for people.
    case asked(String)
    /// It could not be counted.
    case problem(String)

    var counts: CampaignCounts? {
        if case .counted(let counts) = self { return counts }
        return nil
    }

    var json: JSONValue {
        switch self {
        case .counted(let counts): counts.json
        case .kept(let provider): ["kept_by": .string(provider.rawValue)]
        case .asked(let reason): ["asked": .string(reason)]
        case .problem(let problem): ["problem": .string(problem)]
        }
    }

    /// Who gets it, for people.
    var lines: [String] {
        switch self {
        case .counted(let counts): counts.lines
        case .kept(let provider): ["\(provider.rawValue) manages the audience: one request for everyone"]
        case .asked(let reason): [TextTable.printable(reason)]
        case .problem(let problem): ["not counted: \(TextTable.printable(problem))"]
        }
    }
}

/// How many devices a campaign would reach: where they are, and when they are due.
struct CampaignCounts: Sendable {
    /// The devices of one time zone that would get it.
    struct Zone: Sendable, Equatable {
        /// As it was registered; nil for devices without one.
        let name: String?
        let devices: Int64
        let dueAt: Timestamp
        /// What clocks there show when the campaign fires.
        let wall: String

        /// The name, for people.
        var text: String { TextTable.printable(name ?? "none") }
    }

    /// Providers and users, as of a rule.
    let sum: AudienceCounts
    /// How many users its query names; nil where it has none.
    let named: Int64?
    /// What the query says of one of them.
    let variables: JSONObject
    /// Devices that would be among them but are disabled, by reason, the most frequent first.
    let disabled: [(reason: String, devices: Int64)]
    /// By when they are due, and those with most devices first among them.
    let zones: [Zone]
    /// By provider and when they are due.
    let groups: [SendingForecast.Group]
    /// Whether those that would be kept from it were counted to the end.
    var isComplete = true

    /// Sums up what the database counted.
    ///
    /// - Parameters:
    ///   - cells: all of the audience.
    ///   - suppressed: those of it that would get nothing, or not at once.
    ///   - begin: when devices are due that have no time of their own.
    ///   - able: the providers that the configuration has credentials for.
    init(_ cells: AudienceCells, _ suppressed: SuppressedCounts, from begin: Timestamp, able: Set<String>) {
        (named, variables) = (cells.named, cells.variables)
        let reached = cells.cells.filter { $0.disabledReason == nil }
        let providers = Dictionary(grouping: reached, by: \.provider).mapValues { $0.reduce(0) { $0 + $1.devices } }
        let reasons = Dictionary(grouping: cells.cells, by: \.disabledReason).compactMap { reason, cells in
            reason.map { (reason: $0, devices: cells.reduce(0) { $0 + $1.devices }) }
        }
        disabled = reasons.sorted { ($1.devices, $0.reason) < ($0.devices, $1.reason) }
        groups = reached.map { .init(provider: $0.provider, dueAt: $0.dueAt ?? begin, devices: $0.devices) }
        zones = Dictionary(grouping: reached, by: \.timeZone).compactMap { name, cells in
            cells.first.map { first in
                let devices = cells.reduce(0) { $0 + $1.devices }
                return Zone(name: name, devices: devices, dueAt: first.dueAt ?? begin, wall: first.wall)
            }
        }.sorted { ($0.dueAt, $1.devices, $0.text) < ($1.dueAt, $0.devices, $1.text) }
        var sum = AudienceCounts(
            providers: providers.sorted { $0.key < $1.key }.map { .init(name: $0.key, devices: $0.value) },
            users: cells.users,
            disabled: disabled.reduce(0) { $0 + $1.devices }
        )
        sum.suppressed = suppressed
        sum.withoutCredentials = sum.providers.map(\.name).filter { !able.contains($0) }
        self.sum = sum
    }

    var json: JSONValue {
        var object = sum.json.objectValue ?? JSONObject()
        var byReason = JSONObject()
        for reason in disabled { byReason[reason.reason] = JSONValue(reason.devices) }
        object["disabled_by_reason"] = .object(byReason)
        object["named_users"] = named.map { JSONValue($0) }
        object["zones"] = .array(
            zones.map { zone in
                [
                    "time_zone": JSONValue(orNull: zone.name), "devices": JSONValue(zone.devices),
                    "due_at": JSONValue(zone.dueAt), "wall_at_start": .string(zone.wall),
                ]
            }
        )
        return .object(object)
    }

    /// Who gets it and who does not, for people.
    var lines: [String] {
        let reasons = disabled.map { "\($0.reason) \($0.devices)" }.joined(separator: ", ")
        return (named.map { ["audience_sql names \($0) user\($0 == 1 ? "" : "s")"] } ?? []) + [sum.text]
            + sum.suppressed.lines + (reasons.isEmpty ? [] : ["disabled for: \(reasons)"])
    }
}

/// The zones in which the time that a campaign names has passed before it fires.
struct PassedZones: Sendable, Equatable {
    /// How many zones are named to people.
    private static let shown = 5

    /// Where it is sent at once, late as it is.
    let atOnce: [CampaignCounts.Zone]
    /// Where it is later than its `ttl` allows, and expires.
    let tooLate: [CampaignCounts.Zone]
    private let ttl: TimeSpan

    /// Looks for them.
    ///
    /// - Parameters:
    ///   - zones: all.
    ///   - begin: when the campaign fires.
    ///   - ttl: how long after its time a push may wait.
    init(_ zones: [CampaignCounts.Zone], from begin: Timestamp, ttl: TimeSpan) {
        let passed = zones.filter { $0.dueAt < begin }
        let limit = begin.microseconds - ttl.seconds * 1_000_000
        atOnce = passed.filter { $0.dueAt.microseconds > limit }
        tooLate = passed.filter { $0.dueAt.microseconds <= limit }
        self.ttl = ttl
    }

    var isEmpty: Bool { atOnce.isEmpty && tooLate.isEmpty }

    var json: JSONValue { ["at_once": Self.json(atOnce), "too_late": Self.json(tooLate)] }

    /// A line for each kind that there is.
    var lines: [String] {
        var lines: [String] = []
        if !atOnce.isEmpty { lines.append("has passed in \(Self.text(atOnce)): sent at once") }
        if !tooLate.isEmpty {
            lines.append("has passed in \(Self.text(tooLate)): too late for the ttl of \(ttl), would expire")
        }
        return lines
    }

    private static func json(_ zones: [CampaignCounts.Zone]) -> JSONValue {
        [
            "devices": JSONValue(zones.reduce(0) { $0 + $1.devices }),
            "zones": .array(zones.map { ["time_zone": JSONValue(orNull: $0.name), "devices": JSONValue($0.devices)] }),
        ]
    }

    private static func text(_ zones: [CampaignCounts.Zone]) -> String {
        let most = zones.sorted { ($1.devices, $0.text) < ($0.devices, $1.text) }
        let names = most.prefix(shown).map { "\($0.text) \($0.devices)" }
        let more = zones.count > shown ? " and \(zones.count - shown) more" : ""
        let count = zones.count == 1 ? "1 time zone" : "\(zones.count) time zones"
        let devices = zones.reduce(0) { $0 + $1.devices }
        return
            "\(count) with \(devices) device\(devices == 1 ? "" : "s") (\(names.joined(separator: ", "))\(more))"
    }
}
