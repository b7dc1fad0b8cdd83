import FanfareCore
import FanfareTools

extension CampaignAudience {
    /// The audience as lines of text for people.
    var lines: [String] {
        switch self {
        case .counted(let counts): counts.lines
        case .kept(let provider): ["\(provider.rawValue) manages the audience: one request for everyone"]
        case .asked(let reason): [reason.printable]
        case .problem(let problem): ["not counted: \(problem.printable)"]
        }
    }
}

extension CampaignCounts {
    /// The devices that get the push and those that do not, as lines of text for people.
    var lines: [String] {
        let reasons = disabled.map { "\($0.reason) \($0.devices)" }.joined(separator: ", ")
        return (named.map { ["audience_sql names \($0) user\($0 == 1 ? "" : "s")"] } ?? []) + [sum.text]
            + sum.suppressed.lines + (reasons.isEmpty ? [] : ["disabled for: \(reasons)"])
    }
}

extension PassedZones {
    /// The number of zones that the text names at most.
    private static let shown = 5

    /// A line for each of the two kinds that is not empty.
    var lines: [String] {
        var lines: [String] = []
        if !atOnce.isEmpty { lines.append("has passed in \(Self.text(atOnce)): sent at once") }
        if !tooLate.isEmpty {
            lines.append("has passed in \(Self.text(tooLate)): too late for the ttl of \(ttl), would expire")
        }
        return lines
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
