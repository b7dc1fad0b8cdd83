import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareService
import FanfareTools

/// `fanfare send`: sends a message without a rule.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a message without a rule and print the id of its event.",
        discussion: """
            The message is the argument of fanfare.send, such as \
            {"app": "shop", "to": {"users": "ada"}, "message": {"notification": {"title": "Hello"}}}.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The message, a JSON object; - reads it from standard input.")
    var message: String

    func run() async throws {
        let message = try ToolJSON.object(StandardInput.text(for: message), named: "the message")
        let id = try await options.withDatabase { database throws(ToolError) in
            try await database.send(message).get().first ?? 0
        }
        try options.show(["event_id": .number(JSONNumber(id))], "\(id)")
    }
}
