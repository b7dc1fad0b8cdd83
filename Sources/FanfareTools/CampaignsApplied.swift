public import FanfareCore
public import FanfareRecords

/// The result of applying campaigns.
public struct CampaignsApplied: Sendable {
    /// The changes that were made.
    public let plan: CampaignsPlan
    /// The campaigns of the files as stored now.
    public let campaigns: [CampaignRow]
    /// Whether a live daemon checks new versions.
    public let hasDaemon: Bool

    /// Whether a daemon refused any of the campaigns.
    public var hasRefused: Bool { campaigns.contains { $0.reason != nil } }

    /// The result as JSON.
    public var json: JSONValue {
        ["plan": plan.json, "campaigns": .array(campaigns.map(\.json)), "daemon": .bool(hasDaemon)]
    }

    /// The changes and the state of each campaign, as text for people.
    public var text: String {
        var lines = [plan.text, CampaignRow.table(campaigns)]
        if campaigns.contains(where: \.isUnchecked) {
            lines.append(
                hasDaemon
                    ? "unchecked: a daemon will check it; until then the version in force stays"
                    : "unchecked: no daemon runs; the next one that starts will check it, and start due runs"
            )
        }
        return lines.joined(separator: "\n")
    }
}
