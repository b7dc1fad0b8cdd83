import ArgumentParser
import FanfareCore
internal import FanfareLogging
import FanfareService
import FanfareTools

extension Campaigns {
    /// `fanfare campaigns show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one campaign: its next run, last runs and progress."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var campaign: CampaignOptions

        @Flag(help: "Refresh every second until the newest run has ended.")
        var watch = false

        func run() async throws {
            try await options.database().whileOpen { database throws(any Error) in
                let report = try await database.campaign(app: campaign.app, name: campaign.name)
                try options.show(report.json, report.text)
                if watch && report.isRunning { try await follow(database) }
            }
        }

        /// Follows the run: a progress bar on a terminal, else a line per poll, and the whole report at the end.
        private func follow(_ database: ToolDatabase) async throws {
            let hasBar = options.style.obeysEscapes && !options.json
            try await database.watchCampaign(app: campaign.app, name: campaign.name) { progress in
                if hasBar {
                    try options.write("\r\u{1B}[K\(progress.bar)", end: "")
                } else {
                    try options.show(progress.json, progress.line)
                }
            }
            if hasBar { try options.write("\n") }
            let report = try await database.campaign(app: campaign.app, name: campaign.name)
            try options.show(report.json, report.text)
        }
    }
}
