import ArgumentParser
internal import FanfareAPI
import FanfareCore
internal import FanfareProviders
import FanfareService
import FanfareTools

/// `fanfare check`: checks everything that a daemon needs.
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check configuration, keys, database and rules; exit code 1 if anything fails."
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Flag(help: "Also test APNs and FCM, with requests that reach no device.")
    var online = false

    func run() async throws {
        let items = await items()
        let failures = items.count { $0.level == .fail }
        try options.show(
            ["ok": .bool(failures == 0), "items": .array(items.map(\.json))],
            items.map(\.text).joined(separator: "\n")
        )
        if failures > 0 { throw ExitCode.failure }
    }

    private func items() async -> [CheckItem] {
        do {
            let configuration = try options.load()
            return await Checkup(configuration, environment: options.environment).items(online: online)
                + PhoneCheckup.items(configuration, environment: options.environment)
        } catch {
            return [Checkup.unreadable(error)]
        }
    }
}
