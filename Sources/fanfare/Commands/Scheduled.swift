import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare scheduled`: events that are due later.
struct Scheduled: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, move and cancel events that are scheduled.",
        subcommands: [List.self, Move.self, Cancel.self]
    )
}

extension Scheduled {
    /// `fanfare scheduled list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List scheduled events, the next first.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Only events of this type.")
        var type: String?

        @Option(help: "How many at most, from 1 to 1000.")
        var limit = 100

        func validate() throws {
            guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000") }
        }

        func run() async throws {
            let events = try await options.withDatabase { database throws(ToolError) in
                var events: [ScheduledEvent] = []
                var place: [Int64]?
                repeat {
                    let found = try await database.scheduled(ofType: type, after: place, limit: limit - events.count)
                    events += found.rows
                    place = found.next
                } while place != nil && events.count < limit
                return events
            }
            try options.show(.array(events.map(\.json)), ScheduledEvent.table(events))
        }
    }

    /// `fanfare scheduled move`.
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Move a scheduled event to another time.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "The id that emit printed.")
        var id: Int64

        @Argument(help: "The new time: 2026-12-24T18:00:00Z, or a duration from now such as 4h.")
        var at: String

        func run() async throws {
            let event = try await options.withDatabase { database throws(ToolError) in
                guard try await database.move(id, to: DueTime(at)) else { throw try await database.whyNotScheduled(id) }
                return try await database.scheduled(id)
            }
            try options.show(event.json, "\(id) is due at \(event.at.rfc3339)")
        }
    }

    /// `fanfare scheduled cancel`.
    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancel a scheduled event.",
            discussion: "If it was emitted meanwhile, its deliveries that are not sent yet are cancelled."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "The id that emit printed.")
        var id: Int64

        func run() async throws {
            try await options.withDatabase { database throws(ToolError) in
                guard try await database.cancel(id) else { throw try await database.whyNotScheduled(id) }
            }
            try options.show(["cancelled": true], "cancelled")
        }
    }
}
