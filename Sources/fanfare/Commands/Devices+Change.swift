import ArgumentParser
import FanfareCore
internal import FanfareProviders
import FanfareService
import FanfareTools

extension Devices {
    /// `fanfare devices subscribe`.
    struct Subscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Subscribe devices to a topic.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "The topic.")
        var topic: String

        @Argument(help: "The devices' ids.")
        var ids: [Int64]

        func run() async throws {
            let changed = try await options.withDatabase { database throws(ToolError) in
                try await database.setSubscribed(ids, to: topic, true)
            }
            try options.show(["subscribed": .number(JSONNumber(changed))], "\(changed) subscribed")
        }
    }

    /// `fanfare devices unsubscribe`.
    struct Unsubscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End devices' subscriptions to a topic.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "The topic.")
        var topic: String

        @Argument(help: "The devices' ids.")
        var ids: [Int64]

        func run() async throws {
            let changed = try await options.withDatabase { database throws(ToolError) in
                try await database.setSubscribed(ids, to: topic, false)
            }
            try options.show(["unsubscribed": .number(JSONNumber(changed))], "\(changed) unsubscribed")
        }
    }

    /// `fanfare devices restore`.
    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Re-enable devices that pruning disabled.",
            discussion: """
                For use after a provider, or a wrong key, rejected valid tokens. What users and apps unregistered \
                themselves stays disabled. A tripped pruning breaker stays open: see resume-pruning.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app.")
        var app: String

        @Option(help: "Pruned since then: 2h, or a time such as 2026-11-21T13:00:00Z.")
        var since: String

        @Option(help: "Pruned for this reason only, such as BadDeviceToken.")
        var reason: String?

        @Option(help: "Of this environment only: production or sandbox.")
        var environment: String?

        @Flag(help: "Only count them.")
        var dryRun = false

        func run() async throws {
            let request = RestoreRequest(app: app, since: Since(since), reason: reason, environment: environment)
            let (counts, blown) = try await options.withDatabase { database throws(ToolError) in
                let counts = try await database.restore(request, isDryRun: dryRun)
                return (counts, try await database.blownFuses(app: app))
            }
            var reasons = JSONObject()
            for count in counts { reasons[count.reason] = .number(JSONNumber(count.devices)) }
            let total = counts.reduce(0) { $0 + $1.devices }
            var lines = counts.map { "  \($0.reason): \($0.devices)" }
            if !blown.isEmpty {
                lines.append(
                    "pruning is stopped in \(blown.joined(separator: ", ")) until `fanfare devices resume-pruning`"
                )
            }
            let summary = dryRun ? "\(total) would be restored" : "\(total) restored"
            try options.show(
                [
                    "restored": .number(JSONNumber(total)), "by_reason": .object(reasons), "done": .bool(!dryRun),
                    "fuses_blown": .array(blown.map(JSONValue.string)),
                ],
                ([summary] + lines).joined(separator: "\n")
            )
        }
    }
    /// `fanfare devices resume-pruning`.
    struct ResumePruning: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a tripped pruning breaker, so that all daemons prune again.",
            discussion: """
                For use once the cause is fixed: a wrong key, host or environment. Earlier responses no longer count. \
                `fanfare devices restore` re-enables what was pruned by mistake.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app.")
        var app: String

        @Option(help: "Of this environment only: production or sandbox.")
        var environment: String?

        func run() async throws {
            let closed = try await options.withDatabase { database throws(ToolError) in
                try await database.resumePruning(app: app, environment: environment)
            }
            let text =
                closed.isEmpty ? "pruning was not stopped" : "pruning resumed in \(closed.joined(separator: ", "))"
            try options.show(["resumed": .array(closed.map(JSONValue.string))], text)
        }
    }
}
