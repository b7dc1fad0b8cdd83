import ArgumentParser
import FanfareCore
import FanfareService

/// `fanfare status`: what the daemons do.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show daemons, queues and health.",
        discussion: "What a daemon says of itself is as old as its last heartbeat, at most five seconds."
    )

    @OptionGroup var options: GlobalOptions

    func run() throws {
        let report = try options.database().status()
        options.show(report.json, report.text)
    }
}
