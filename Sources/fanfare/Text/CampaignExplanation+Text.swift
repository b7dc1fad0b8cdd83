import FanfareCampaigns
import FanfareCore
import FanfareExplain
import FanfareProviders
import FanfareRecords
import FanfareTools
import PostgresClient

extension CampaignExplanation {
    /// The number of time zones that the text shows at most.
    private static let zonesShown = 20

    /// The explanation as text for people.
    var text: String {
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
            lines.append(
                "\(campaign.experiment == nil ? "canary" : "experiment"): about \(canary) device\(canary == 1 ? "" : "s") first\(judged)"
            )
        }
        if let experiment, !experiment.isTooSmall { lines.append(experiment.line) }
        if campaign.experiment?.measure == .opened {
            lines.append("people count once a device of theirs has reported a receipt: `received` or `shown`")
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

extension ExperimentForecast {
    /// Which differences are found, as in `it finds 1% to 1.44%, 5% to 5.9% and 20% to 21.7% in 80% of experiments`.
    fileprivate var line: String {
        let steps = steps.compactMap { step in
            step.increase.map { "\(Self.percent(step.base)) to \(Self.percent(step.base + $0))" }
        }
        guard let last = steps.last else { return "it finds no difference" }
        let list = steps.count > 1 ? steps.dropLast().joined(separator: ", ") + " and " + last : last
        return "of two variants, it finds \(list) in 80% of experiments"
    }

    private static func percent(_ rate: Double) -> String {
        let tenths = (rate * 1000).rounded() / 10
        return "\(tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)")%"
    }
}
