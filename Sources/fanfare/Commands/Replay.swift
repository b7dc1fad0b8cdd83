import ArgumentParser
import FanfareCore
import FanfareTools

/// `fanfare replay`: re-emits a logged event.
struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Re-emit a logged event, for all or for one user, and print its new id.",
        discussion: """
            Type, key, payload and ttl are those of the event, and the ttl restarts. The rules in force now apply, also some \
            that were made after the event. Its key is not deduplicated. Preferences, quiet hours, caps and supersede count as \
            for any event. The new event names the original: in events, tail and why, and to templates as \
            event.replay_of. Needs the role fanfare_operator.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The event's id.")
    var event: Int64

    @Option(help: "Only to this user, if the event is for this user among others.")
    var to: String?

    @Option(help: "Only by this app's rules.")
    var app: String?

    func run() async throws {
        let id = try await options.withDatabase { database throws(ToolError) in
            try await database.replay(event, to: to, app: app).get()
        }
        try options.show(["event_id": .number(JSONNumber(id)), "replay_of": .number(JSONNumber(event))], "\(id)")
    }
}
