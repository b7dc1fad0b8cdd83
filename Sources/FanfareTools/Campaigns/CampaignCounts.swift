internal import FanfareCampaigns
package import FanfareCore
internal import FanfareProviders
package import FanfareRecords
package import PostgresClient

/// The audience that a campaign would reach.
package enum CampaignAudience: Sendable {
    /// Devices in Fanfare's own tables: counted.
    case counted(CampaignCounts)
    /// An audience that a provider manages: one request reaches all of it.
    case kept(by: PushProvider)
    /// An audience that a query selects when the campaign fires, and that is not counted now; the reason, as text for
    /// people.
    case asked(String)
    /// The audience could not be counted; the reason.
    case problem(String)

    package var counts: CampaignCounts? {
        if case .counted(let counts) = self { return counts }
        return nil
    }

    package var json: JSONValue {
        switch self {
        case .counted(let counts): counts.json
        case .kept(let provider): ["kept_by": .string(provider.rawValue)]
        case .asked(let reason): ["asked": .string(reason)]
        case .problem(let problem): ["problem": .string(problem)]
        }
    }
}

/// The devices that a campaign would reach, by time zone and due time.
package struct CampaignCounts: Sendable {
    /// The devices of the audience in one time zone.
    package struct Zone: Sendable, Equatable {
        /// The zone's name as registered; nil for devices without one.
        package let name: String?
        package let devices: Int64
        package let dueAt: Timestamp
        /// The local time in the zone when the campaign fires.
        package let wall: String

        /// The name, for people.
        package var text: String { (name ?? "none").printable }
    }

    /// The devices of one provider with the same due time.
    package struct Group: Equatable, Sendable {
        package let provider: String
        package let dueAt: Timestamp
        package let devices: Int64

        package init(provider: String, dueAt: Timestamp, devices: Int64) {
            (self.provider, self.dueAt, self.devices) = (provider, dueAt, devices)
        }
    }

    /// The counts by provider and of users, as for a rule.
    package let sum: AudienceCounts
    /// How many users the campaign's query returns; nil if it has none.
    package let named: Int64?
    /// The variables that the query returns for one of those users.
    package let variables: JSONObject
    /// Matching devices that are disabled, by reason, the most frequent first.
    package let disabled: [(reason: String, devices: Int64)]
    /// The zones in the order of their due times, then by the number of devices, largest first.
    package let zones: [Zone]
    /// The devices by provider and due time.
    package let groups: [Group]
    /// Whether the count of suppressed devices finished.
    package var isComplete = true

    /// Sums up the database's counts.
    ///
    /// - Parameters:
    ///   - cells: the whole audience.
    ///   - suppressed: the devices of it that would get nothing, or get it later.
    ///   - begin: when devices are due that have no due time of their own.
    ///   - able: the providers that the configuration has credentials for.
    package init(_ cells: AudienceCells, _ suppressed: SuppressedCounts, from begin: Timestamp, able: Set<String>) {
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

    package var json: JSONValue {
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
}

/// The zones in which the campaign's local time has already passed when it fires.
package struct PassedZones: Sendable, Equatable {
    /// Zones in which the push is sent at once, late.
    package let atOnce: [CampaignCounts.Zone]
    /// Zones in which the push is later than its `ttl` allows, and expires.
    package let tooLate: [CampaignCounts.Zone]
    package let ttl: TimeSpan

    /// Finds the zones in which the time has passed.
    ///
    /// - Parameters:
    ///   - zones: all zones of the audience.
    ///   - begin: when the campaign fires.
    ///   - ttl: how long after its due time a push may wait.
    package init(_ zones: [CampaignCounts.Zone], from begin: Timestamp, ttl: TimeSpan) {
        let passed = zones.filter { $0.dueAt < begin }
        let limit = begin.microseconds - ttl.seconds * 1_000_000
        atOnce = passed.filter { $0.dueAt.microseconds > limit }
        tooLate = passed.filter { $0.dueAt.microseconds <= limit }
        self.ttl = ttl
    }

    package var isEmpty: Bool { atOnce.isEmpty && tooLate.isEmpty }

    package var json: JSONValue { ["at_once": Self.json(atOnce), "too_late": Self.json(tooLate)] }

    private static func json(_ zones: [CampaignCounts.Zone]) -> JSONValue {
        [
            "devices": JSONValue(zones.reduce(0) { $0 + $1.devices }),
            "zones": .array(zones.map { ["time_zone": JSONValue(orNull: $0.name), "devices": JSONValue($0.devices)] }),
        ]
    }
}
