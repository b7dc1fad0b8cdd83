import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareExplain
import FanfareService
import FanfareTools

extension Campaigns {
    /// `fanfare campaigns explain`.
    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a campaign's audience, messages and times; nothing is sent.",
            discussion: """
                Uses the version in force, or a file, as of its next run: how many devices by provider and time zone, \
                when the first push and the last would leave, how many would be too late, and the message for each provider \
                and locale. The audience is counted as it is now.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        @Option(
            name: .customLong("file"),
            help: "A YAML file with the campaign; - reads standard input; without it the stored campaign is used.",
            completion: .file(extensions: ["yaml", "yml"])
        )
        var campaigns: String?

        @Option(help: "A JSON object over the campaign's payload; - reads standard input.")
        var payload = "{}"

        func validate() throws {
            if campaigns == StandardInput.argument && payload == StandardInput.argument {
                throw ValidationError("Standard input can be read once: give one - only.")
            }
        }

        func run() async throws {
            let payload = try StandardInput.text(for: payload)
            let set = try campaigns.map { try CampaignSet(files: [$0]) }
            let configuration = try options.load(forDatabase: true)
            let explanation = try await options.withDatabase { database throws(ToolError) in
                try await database.explainCampaign(
                    app: campaign.app,
                    name: campaign.name,
                    in: set,
                    payload: payload,
                    configuration
                )
            }
            try options.show(explanation.json, explanation.text)
            if explanation.isRefused { throw ExitCode.failure }
        }
    }
}
