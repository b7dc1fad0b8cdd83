import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareTools

/// `fanfare reports`: shows what devices reported.
struct Reports: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show how many pushes were accepted, and how many devices received, showed and opened them.",
        discussion: """
            Of an event, of a rule by day, or of the last \(ToolDatabase.runsOfReports) runs of a campaign, each by variant. Only \
            rules with `report: true` have reports, and not all devices can report. A day has the pushes that were accepted on that \
            day, and the reports that came on it.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The event's id; without it, --app and --rule or --campaign select the pushes.")
    var event: Int64?

    @Option(help: "The app of the rule or campaign.")
    var app: String?

    @Option(help: "The rule's name.")
    var rule: String?

    @Option(help: "The campaign's name.")
    var campaign: String?

    @Option(help: "The number of days, for a rule.")
    var days: Int32 = 7

    @Flag(help: "Compare variants with the holdout: how many people converted. Reads every delivery, 8 µs each.")
    var lift = false

    func validate() throws {
        let isOfApp = app != nil && (rule == nil) != (campaign == nil)
        guard event != nil ? app == nil && rule == nil && campaign == nil : isOfApp else {
            throw ValidationError("Give either an event's id, or --app and one of --rule and --campaign.")
        }
        guard !lift || campaign == nil else { throw ValidationError("Give the id of the run's event with --lift.") }
        guard (1...3660).contains(days) else { throw ValidationError("--days is not 1 to 3660.") }
    }

    func run() async throws {
        if lift {
            let rows = try await options.withDatabase { database throws(ToolError) in
                if let event { return try await database.lift(ofEvent: event) }
                return try await database.lift(ofRule: rule ?? "", app: app ?? "", days: days)
            }
            return try options.show(.array(rows.map(\.json)), LiftRow.table(rows))
        }
        let rows = try await options.withDatabase { database throws(ToolError) in
            if let event { return try await database.funnel(ofEvent: event) }
            if let rule { return try await database.funnel(ofRule: rule, app: app ?? "", days: days) }
            return try await database.funnel(ofCampaign: campaign ?? "", app: app ?? "")
        }
        try options.show(.array(rows.map(\.json)), ReportFunnelLine.table(rows))
    }
}
