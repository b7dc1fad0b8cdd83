import FanfareCore
import FanfareService
import Foundation
import Testing

/// The example files must work as they are.
@Suite struct ExampleFilesTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func theExampleConfigurationIsValidAndShowsTheDefaults() throws {
        let loaded = try Configuration.load(
            file: Self.root.appending(path: "deploy/fanfare.yaml").path,
            environment: ["CREDENTIALS_DIRECTORY": "/run/credentials/fanfare.service"]
        )
        #expect(loaded.apps["shop"]?.apns?.keyFile == "/run/credentials/fanfare.service/apns.p8")
        #expect(loaded.send == Configuration.Send())
        #expect(loaded.retry == Configuration.Retry())
        #expect(loaded.retention == Configuration.Retention())
        #expect(loaded.log == Configuration.Log())
        #expect(loaded.warnings.isEmpty)
    }

    @Test func theExampleRulesAreReadable() throws {
        let file = try RulesFile.load(Self.root.appending(path: "deploy/rules.yaml").path)
        #expect(file.rules.map(\.name) == ["order-shipped", "sale-started"])
        #expect(file.rules.allSatisfy { $0.app == "shop" })
        for rule in file.rules { _ = try RuleDefinition(json: rule.json) }
    }

    @Test func theUnitGivesTheDaemonTimeToDrainAndReloadsByHUP() throws {
        let unit = try String(
            contentsOf: Self.root.appending(path: "systemd/fanfare.service"),
            encoding: .utf8
        )
        let lines = unit.split(separator: "\n")
        for line in [
            "Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "TimeoutStopSec=30", "Restart=on-failure",
            "WatchdogSec=60",
        ] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
    }
}
