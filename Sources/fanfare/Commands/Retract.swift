import ArgumentParser
import FanfareCore
import FanfareTools

/// `fanfare retract`: takes an event back.
struct Retract: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take an event back: stop what waits, and remove its notification from devices.",
        discussion: """
            Devices that accepted the event get one silent push that lists what to remove, by the rule's collapse id; a \
            device gets at most one in five minutes. Removal is best effort: the system may delay or drop a silent push, \
            and the app has to remove the notification. Needs the role fanfare_emitter.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The event's id; without it, --type and --key select the events.")
    var event: Int64?

    @Option(help: "The type of the events.")
    var type: String?

    @Option(help: "The key of the events.")
    var key: String?

    @Option(help: "Only from this user's devices.")
    var user: String?

    func validate() throws {
        guard event != nil ? type == nil && key == nil : type != nil && key != nil else {
            throw ValidationError("Give either an event's id, or both --type and --key.")
        }
    }

    func run() async throws {
        let isKnown = try await options.withDatabase { database throws(ToolError) in
            if let event { return try await database.retract(event, from: user) }
            return try await database.retract(type: type ?? "", key: key ?? "", from: user)
        }
        guard isKnown else {
            if let event { throw ToolDatabase.noEvent(event) }
            throw ToolError(
                .failed,
                "there is no event with this type and key",
                hint: "A key is kept for retention.keys; take older events back by their ids.",
                isAbsence: true
            )
        }
        try options.show(["retracted": true], "taken back")
    }
}
