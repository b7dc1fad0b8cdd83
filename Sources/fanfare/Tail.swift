import ArgumentParser
import FanfareCore
import FanfareService
import Foundation

/// `fanfare tail`: follows events and outcomes.
struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow events and what becomes of them.",
        discussion: "Prints lines for people on a terminal, JSON lines into a pipe or with --json."
    )

    /// Short enough to feel live, long enough to cost the database nothing to speak of.
    private static let pause = 0.5

    @OptionGroup var options: GlobalOptions

    @Option(help: "Only this event, by its id, or only events of this type.")
    var event: String?

    @Option(help: "Begin there: 10m, or a time such as 2026-11-21T13:00:00Z; otherwise now.")
    var since: String?

    @Flag(inversion: .prefixedNo, help: "Whether to go on after what is there.")
    var follow = true

    func run() throws {
        var filter = LogTail.Filter()
        filter.eventID = event.flatMap { Int64($0) }
        filter.eventType = filter.eventID == nil ? event : nil
        filter.since = since.map { Since($0) }
        let tail = try options.database().tail(filter)
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isColoured = isTerminal && (options.environment["NO_COLOR"] ?? "").isEmpty
        while true {
            let lines = try tail.next()
            let text = lines.map { line in
                isTerminal && !options.json
                    ? line.text(colour: isColoured) : String(decoding: line.json.encoded, as: UTF8.self)
            }
            if !text.isEmpty {
                // Not print: a pipe would get lines only when its buffer is full.
                try FileHandle.standardOutput.write(contentsOf: Data((text.joined(separator: "\n") + "\n").utf8))
                continue
            }
            guard follow else { return }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }
}
