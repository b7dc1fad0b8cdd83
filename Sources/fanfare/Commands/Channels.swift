import ArgumentParser
import FanfareCore
import FanfareService
import FanfareTools

/// `fanfare channels`: the broadcast channels of APNs.
struct Channels: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and delete APNs broadcast channels, which Live Activities listen to.",
        discussion: "They are stored by Apple, not in the database. A rule publishes to one by `to: { channel: ID }`.",
        subcommands: [Create.self, List.self, Delete.self]
    )

    /// The app and environment of the channels.
    struct Place: ParsableArguments {
        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "The app.")
        var app: String

        @Flag(help: "Use APNs' sandbox environment (development builds).")
        var sandbox = false

        func manager() throws -> ChannelManager {
            try ChannelManager(options.load(), app: app, isSandbox: sandbox, environment: options.environment)
        }
    }
}

extension Channels {
    /// `fanfare channels create`.
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a channel and print its id.")

        @OptionGroup var place: Place

        @Flag(help: "Store nothing for offline devices: more may be published, and rules have no ttl.")
        var storeNothing = false

        func run() throws {
            let id = try place.manager().create(storeNothing ? .nothing : .newest)
            try place.options.show(["channel": .string(id)], id)
        }
    }

    /// `fanfare channels list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the ids of an app's channels.")

        @OptionGroup var place: Place

        func run() throws {
            let ids = try place.manager().list()
            try place.options.show(
                ["channels": .array(ids.map(JSONValue.string))],
                ids.isEmpty ? "no channels" : ids.joined(separator: "\n")
            )
        }
    }

    /// `fanfare channels delete`.
    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a channel for good.")

        @OptionGroup var place: Place

        @Argument(help: "The channel's id.")
        var id: String

        func run() throws {
            try place.manager().delete(id)
            try place.options.show(["deleted": .string(id)], "deleted \(id)")
        }
    }
}
