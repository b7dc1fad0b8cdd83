import ArgumentParser
import FanfareCore
internal import FanfareLogging
import FanfareService
import FanfareTools
import Foundation

/// `fanfare tail`: follows events and outcomes.
///
/// Blocks its thread: the command holds one session of its own and does nothing else.
struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow events and their outcomes.",
        discussion: "Prints lines for people on a terminal, JSON lines into a pipe or with --json."
    )

    /// The polling interval: short enough to appear live, and long enough to cost the database little.
    private static let pause = 0.5

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Option(help: "Only this event, by its id, or only events of this type.")
    var event: String?

    @Option(help: "Only what happens to devices of this user.")
    var user: String?

    @Option(help: "Only pushes of this app.")
    var app: String?

    @Option(help: "Only pushes of this rule, by its name.")
    var rule: String?

    @Option(help: "Only this outcome of a push, or fate of an event, such as accepted, rejected or unmatched.")
    var outcome: String?

    @Flag(
        help:
            "Only failures: retrying, gone, rejected, refused, expired, exhausted, unknown."
    )
    var failed = false

    @Option(help: "Begin there: 10m, or a time such as 2026-11-21T13:00:00Z; otherwise now.")
    var since: String?

    @Flag(inversion: .prefixedNo, help: "Whether to keep following.")
    var follow = true

    func validate() throws {
        guard outcome == nil || !failed else { throw ValidationError("--outcome and --failed exclude each other.") }
        if let outcome, !LogTail.Filter.words.contains(outcome) {
            let near = NearestName.suggestion(for: outcome, among: LogTail.Filter.words).map { "; did you mean \($0)?" }
            let known = LogTail.Filter.words.joined(separator: ", ")
            throw ValidationError("--outcome: '\(outcome)' is none\(near ?? "; there are \(known)")")
        }
    }

    func run() throws {
        let tail = try options.database().tail(filter)
        let style = options.style
        while true {
            let text = try tail.next().map { line in
                style.isTerminal && !options.json
                    ? line.text(colour: style.isColoured) : line.json.text.printableJSON
            }
            if !text.isEmpty {
                try options.write(text.joined(separator: "\n"))
                continue
            }
            guard follow else { return }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }

    private var filter: LogTail.Filter {
        var filter = LogTail.Filter()
        filter.eventID = event.flatMap { Int64($0) }
        filter.eventType = filter.eventID == nil ? event : nil
        filter.user = user
        filter.app = app
        filter.rule = rule
        filter.outcomes = failed ? LogTail.Filter.failures : outcome.map { [$0] }
        filter.since = since.map { Since($0) }
        return filter
    }
}
