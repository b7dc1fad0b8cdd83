public import FanfareCore
public import FanfareStore

/// What became of campaigns that were applied.
public struct CampaignsApplied: Sendable {
    /// What was changed.
    public let plan: CampaignsPlan
    /// The campaigns of the files as they are stored now.
    public let campaigns: [CampaignRow]
    /// Whether a daemon lives that checks new versions.
    public let hasDaemon: Bool

    /// Whether a daemon refused any of them.
    public var hasRefused: Bool { campaigns.contains { $0.reason != nil } }

    /// All of it as JSON.
    public var json: JSONValue {
        ["plan": plan.json, "campaigns": .array(campaigns.map(\.json)), "daemon": .bool(hasDaemon)]
    }

    /// The changes and the state of each campaign, for people.
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
