import FanfareCore
import FanfareService
import Foundation
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareConfiguration
@testable import FanfareProviders

/// The example files must work as they are.
@Suite struct ExampleFilesTests {
    @Test func theExampleConfigurationIsValidAndShowsTheDefaults() throws {
        let loaded = try Configuration.load(
            file: Documentation.root.appending(path: "deploy/fanfare.yaml").path,
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
        let file = try RulesFile.load(Documentation.root.appending(path: "deploy/rules.yaml").path)
        #expect(file.rules.map(\.name) == ["order-shipped", "sale-started"])
        #expect(file.rules.allSatisfy { $0.app == "shop" })
        for rule in file.rules { _ = try RuleDefinition(json: rule.json) }
    }

    @Test func theExampleCampaignsAreReadable() throws {
        let path = Documentation.root.appending(path: "deploy/campaigns.yaml").path
        let file = try RulesFile.load(path, of: .campaign)
        #expect(file.rules.map(\.name) == ["weekly-news", "sale-ends"])
        let campaigns = try file.rules.map { try CampaignDefinition(json: $0.json) }
        #expect(campaigns.map { $0.schedule != nil } == [true, false])
    }

    /// Rules and campaigns in README and the articles must work when copied.
    @Test func theDocumentationsRulesMakeSense() throws {
        let pages = [try Documentation.readme()] + (try Documentation.articles().map(Documentation.text))
        let blocks = pages.flatMap { page in
            page.components(separatedBy: "```yaml\n").dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }.filter { $0.hasPrefix("- name:") }
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "fanfare-rules-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var names: [String] = []
        for (number, block) in blocks.enumerated() {
            let file = folder.appending(path: "\(number).yaml")
            try block.write(to: file, atomically: true, encoding: .utf8)
            if !block.contains("\n  event:") {
                let campaigns = try RulesFile.load(file.path, of: .campaign).rules
                names += try campaigns.map { try CampaignDefinition(json: $0.json).rule.definition.name }
            } else {
                names += try RulesFile.load(file.path).rules.map { try CompiledRule(json: $0.json).definition.name }
            }
        }
        let ofTheCookbook = [
            "chat-message", "room-message", "answerable-message", "reply-to-backend", "orders-shipped",
            "orders-delivered", "digest", "appointment-soon", "score", "delivery-starts", "delivery-moves",
            "delivery-ends",
        ]
        let ofOtherArticles = [
            "order-shipped", "winter-sale", "chat-message", "new-comments", "order-changed", "room-message",
            "message-with-reply",
            "spring-sale", "order-shipped", "winter-offer", "cart-reminder", "campaign/winter-sale",
        ]
        let campaigns = [
            "weekly-news", "winter-sale", "shop-closes", "good-morning", "come-back", "invoices-due", "big-news",
        ].map { "campaign/\($0)" }
        #expect(names == ["order-shipped"] + campaigns + ofTheCookbook + ofOtherArticles, "README's, then by article")
    }

    @Test func theUnitGivesTheDaemonTimeToDrainAndReloadsByHUP() throws {
        let unit = try String(
            contentsOf: Documentation.root.appending(path: "systemd/fanfare.service"),
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
