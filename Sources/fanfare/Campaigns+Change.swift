import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

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
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Pause a campaign: no run starts, and unsent pushes wait."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        func run() async throws { try await options.change(.pause, campaign, "paused") }
    }

    /// `fanfare campaigns resume`.
    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume a paused campaign where it stopped, with its future runs."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        func run() async throws { try await options.change(.resume, campaign, "resumed") }
    }

    /// `fanfare campaigns abort`.
    struct Abort: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancel a campaign's unsent pushes; its schedule continues.",
            discussion: "Each remaining recipient is recorded as cancelled."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        func run() async throws { try await options.change(.abort, campaign, "aborted") }
    }

    /// `fanfare campaigns drop`.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Drop a campaign; what is planned is still sent."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        func run() async throws { try await options.change(.drop, campaign, "dropped") }
    }
}

extension GlobalOptions {
    /// Changes a campaign and reports whether anything changed.
    ///
    /// - Parameters:
    ///   - change: the kind of change.
    ///   - campaign: the campaign.
    ///   - done: the past participle for the output, also the key of the JSON.
    /// - Throws: ``ToolError``, and errors of the configuration.
    fileprivate func change(_ change: CampaignChange, _ campaign: CampaignOptions, _ done: String) async throws {
        let isChanged = try await withDatabase { database throws(ToolError) in
            try await database.change(change, app: campaign.app, campaign: campaign.name)
        }
        var object = JSONObject()
        object[done] = .bool(isChanged)
        try show(.object(object), isChanged ? done : "nothing to do")
    }
}
