import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// The campaign of a command.
struct CampaignOptions: ParsableArguments {
    @Argument(help: "The campaign's app.")
    var app: String

    @Argument(help: "The campaign's name.")
    var name: String
}

extension Campaigns {
    /// `fanfare campaigns start`.
    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Start a campaign now, and print the ids of the run and its event.",
            discussion: """
                Counts its audience first, and refuses to reach more than \(ToolDatabase.unconfirmedDevices) devices \
                without --yes. With --yes nothing is counted.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        @Option(help: "A JSON object over the campaign's payload; - reads standard input.")
        var payload = "{}"

        @Flag(help: "Start it even if many devices get it.")
        var yes = false

        func run() async throws {
            let payload = try StandardInput.text(for: payload)
            let configuration = try options.load(forDatabase: true)
            let started = try await options.withDatabase { database throws(ToolError) in
                try await database.startCampaign(
                    app: campaign.app,
                    name: campaign.name,
                    payload: payload,
                    isConfirmed: yes,
                    configuration
                ).get()
            }
            try options.show(started.json, started.text)
            if started.eventID == nil { throw ExitCode.failure }
        }
    }

    /// `fanfare campaigns test`.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a campaign to named users only, and print the event's id.",
            discussion: """
                It is sent at once. The campaign's schedule and audience are not used. In events and logs its rule is \
                campaign-test/NAME. The version in force is sent, not one that waits to be checked.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        @Option(help: "A user who gets it; may be repeated.")
        var user: [String]

        func run() async throws {
            let eventID = try await options.withDatabase { database throws(ToolError) in
                try await database.testCampaign(app: campaign.app, name: campaign.name, users: user)
            }
            try options.show(["event_id": .number(JSONNumber(eventID))], "event \(eventID)")
        }
    }

    /// `fanfare campaigns pause`.
    enum Pause: CampaignStep {
        static let (change, done) = (CampaignChange.pause, "paused")
        static let abstract = "Pause a campaign: no run starts, and unsent pushes wait."
    }

    /// `fanfare campaigns resume`.
    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume a paused campaign where it stopped, with its future runs.",
            discussion: """
                If the campaign is not paused but waits for its experiment, the rest of the audience gets the push now: the \
                variant named by --winner, or each user the variant that the hash gives them.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        @Option(help: "Ends the campaign's experiment: the variant for the rest of the audience.")
        var winner: String?

        func run() async throws {
            let isChanged = try await options.withDatabase { database throws(ToolError) in
                try await database.change(.resume, app: campaign.app, campaign: campaign.name, winner: winner)
            }
            try options.show(["resumed": .bool(isChanged)], isChanged ? "resumed" : "nothing to do")
        }
    }

    /// `fanfare campaigns abort`.
    enum Abort: CampaignStep {
        static let (change, done) = (CampaignChange.abort, "aborted")
        static let abstract = "Cancel a campaign's unsent pushes; its schedule continues."
        static let discussion = "Each remaining recipient is recorded as cancelled."
    }

    /// `fanfare campaigns drop`.
    enum Drop: CampaignStep {
        static let (change, done) = (CampaignChange.drop, "dropped")
        static let abstract = "Drop a campaign; what is planned is still sent."
    }
}

/// A change of a campaign, as a command.
protocol CampaignStep {
    static var change: CampaignChange { get }
    /// The past participle for the output, also the key of the JSON.
    static var done: String { get }
    static var abstract: String { get }
    static var discussion: String { get }
}

extension CampaignStep {
    static var discussion: String { "" }
}

/// Changes a campaign and reports whether anything changed.
struct ChangeCampaign<Step: CampaignStep>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Step.change.rawValue,
            abstract: Step.abstract,
            discussion: Step.discussion
        )
    }

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
    @OptionGroup var campaign: CampaignOptions

    func run() async throws {
        let isChanged = try await options.withDatabase { database throws(ToolError) in
            try await database.change(Step.change, app: campaign.app, campaign: campaign.name)
        }
        var object = JSONObject()
        object[Step.done] = .bool(isChanged)
        try options.show(.object(object), isChanged ? Step.done : "nothing to do")
    }
}
