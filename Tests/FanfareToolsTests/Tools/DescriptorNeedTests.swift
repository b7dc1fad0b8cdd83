import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// The warning about file descriptors before they run out.
struct DescriptorNeedTests {
    private func configuration(apps: Int) -> Configuration {
        var configuration = Configuration()
        var app = Configuration.App()
        app.apns = APNsSettings()
        configuration.apps = Dictionary(uniqueKeysWithValues: (0..<apps).map { ("app\($0)", app) })
        return configuration
    }

    @Test func whatIsNeededGrowsWithTheApps() {
        let (none, one, eighty) = (
            DescriptorNeed(configuration(apps: 0)).count, DescriptorNeed(configuration(apps: 1)).count,
            DescriptorNeed(configuration(apps: 80)).count
        )
        #expect(none < 64)
        #expect(eighty - none == 80 * (one - none))
        #expect((1024...4096).contains(eighty))
    }

    @Test(arguments: [(UInt64(1) << 20, CheckItem.Level.ok, "INFO "), (1024, .warn, "WARNING ")])
    func itIsComparedWithWhatThereIs(limit: UInt64, level: CheckItem.Level, word: String) {
        let need = DescriptorNeed(configuration(apps: 80))
        let item = need.item(DescriptorLimit(soft: 10, hard: limit))
        #expect(item.level == level)
        #expect(item.detail == "up to \(need.count) are needed, \(limit) are allowed here")
        let log = CapturedLog()
        need.log(DescriptorLimit(soft: limit, hard: limit), to: log.logger)
        let lines = log.end()
        #expect(lines.count == 1 && lines[0].hasPrefix(word))
        #expect(lines[0].contains("descriptors.limit=\(limit) descriptors.needed=\(need.count)"))
    }
}
