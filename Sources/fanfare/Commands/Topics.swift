import ArgumentParser
import FanfareCore
internal import FanfareProviders
import FanfareService
import FanfareTools
import Foundation
import UnixSignals

/// `fanfare topics`: the topics that FCM manages.
struct Topics: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Subscribe devices to FCM's own topics, or end that.",
        discussion: """
            For rules with `to: { fcm_topic: … }` or `fcm_condition`: FCM, not Fanfare, stores the subscribers. Topics of \
            Fanfare are changed by `fanfare devices subscribe` and in SQL. FCM takes one request for each device: a million \
            devices take about seven minutes. Progress is stored, so the same command continues one that was stopped.
            """,
        subcommands: [Subscribe.self, Unsubscribe.self]
    )

    /// The devices of a command.
    struct Selection: ParsableArguments {
        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "FCM's topic.")
        var topic: String

        @Option(help: "The app.")
        var app: String

        @Option(help: "Subscribers of this topic of Fanfare's.")
        var subscribersOf: String?

        @Option(help: "Devices of this user; may be repeated.")
        var user: [String] = []

        @Flag(help: "All of the app's FCM devices.")
        var all = false

        @Flag(help: "Only count them.")
        var dryRun = false

        @Option(help: "Requests a second, up to Google's quota of \(TopicChange.rates.upperBound) for the project.")
        var rate = 2500

        @Flag(help: "Begin with the first device, although the same command was stopped after a later one.")
        var restart = false

        func validate() throws {
            guard all != (subscribersOf != nil || !user.isEmpty) else {
                throw ValidationError("Give --subscribers-of, --user, or --all.")
            }
            guard TopicChange.rates.contains(rate) else {
                throw ValidationError("--rate must be from 1 to \(TopicChange.rates.upperBound).")
            }
        }

        func perform(_ operation: FCMTopicOperation) async throws {
            let configuration = try options.load()
            var filter = FCMDeviceFilter(app: app)
            filter.topic = subscribersOf
            filter.users = user.isEmpty ? nil : user
            var change = try TopicChange(operation, topic: topic, of: filter)
            change.rate = rate
            change.restarts = restart
            let database = try ToolDatabase(configuration, environment: options.environment)
            guard !dryRun else {
                let count = try await database.whileOpen { [filter] database throws(ToolError) in
                    try await database.countTokens(filter)
                }
                return try options.show(["devices": .number(JSONNumber(count))], "\(count) devices")
            }
            let voice = TopicVoice(isTerminal: isatty(FileHandle.standardError.fileDescriptor) == 1)
            let stop = TopicStop()
            let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
            // Ends with this function; the change ends by `stop`.
            let watch = Task {
                for await signal in signals where !stop.request(by: signal.rawValue) { _exit(128 + signal.rawValue) }
            }
            defer { watch.cancel() }
            let report: TopicReport
            do throws(ToolError) {
                report = try await database.whileOpen { [change, options] database throws(ToolError) in
                    try await database.apply(change, configuration, environment: options.environment, stop: stop) {
                        news in
                        Self.say(voice.text(news))
                    }
                }
            } catch {
                Self.say(voice.end())
                throw error
            }
            Self.say(voice.end())
            try options.show(report.tally.json, report.tally.text)
            if report.isStopped {
                let devices = report.tally.devices
                Self.say("fanfare: stopped after \(devices) devices: the same command continues there\n")
                throw ExitCode(128 + (stop.signal ?? SIGTERM))
            }
            if !report.tally.isComplete { throw ExitCode.failure }
        }

        private static func say(_ text: String?) {
            if let text { FileHandle.standardError.write(Data(text.utf8)) }
        }
    }

    /// `fanfare topics subscribe`.
    struct Subscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Subscribe devices to one of FCM's topics.")

        @OptionGroup var selection: Selection

        func run() async throws { try await selection.perform(.subscribe) }
    }

    /// `fanfare topics unsubscribe`.
    struct Unsubscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End devices' subscriptions to one of FCM's topics.")

        @OptionGroup var selection: Selection

        func run() async throws { try await selection.perform(.unsubscribe) }
    }
}
