import ArgumentParser
import FanfareCore
import FanfareExplain
import FanfareRecords
import FanfareTools

/// `fanfare why`: explains the outcome of an event for one user.
struct Why: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show why a user did or did not get a push: every step of an event for one user.",
        discussion: """
            With --event it shows each step in order of time: the event, the rules of its type and which condition of a `when` \
            was false, the user's devices, each attempt and what the provider answered, and what holds what still waits; each \
            with what to do. Without --event it shows what the user's last twenty events came to, a line each. It reads logs, \
            which are kept for retention.log, 30 days at most. It fails where there is no such event, or no such user.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Option(help: "The user's id.")
    var user: String

    @Option(help: "The event's id; without it the user's last events are shown.")
    var event: Int64?

    @Option(help: "Only what concerns this app.")
    var app: String?

    func run() async throws {
        guard let event else {
            let verdicts = try await options.withDatabase { database throws(ToolError) in
                try await database.why(user: user, app: app)
            }
            try options.show(.array(verdicts.map(\.json)), WhyVerdict.text(verdicts))
            if verdicts.contains(where: { $0.reason == "no_user" }) { throw ExitCode.failure }
            return
        }
        let report = try await options.withDatabase { database throws(ToolError) in
            try await database.why(eventID: event, user: user, app: app)
        }
        try options.show(report.json, report.text)
        if report.verdict.isAbsence { throw ExitCode.failure }
    }
}
