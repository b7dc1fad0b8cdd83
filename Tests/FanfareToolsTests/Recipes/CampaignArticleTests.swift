import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// The examples of the article on campaigns work as printed.
@Suite(.database) struct CampaignArticleTests {
    private func blocks(of language: String) throws -> [String] {
        try Documentation.text("Campaigns").components(separatedBy: "```\(language)\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }

    @Test func itsSQLRuns() throws {
        let world = try World()
        let blocks = try blocks(of: "sql")
        #expect(blocks.count == 3)
        for block in blocks {
            try world.connection.execute(block)
            try world.schedule()
        }
        #expect(try world.campaign("weekly-news", "state") == "active")
        let payload = try world.connection.text("SELECT payload - 'scheduled_at' FROM fanfare.outbox")
        #expect(payload == #"{"editor": "ann", "campaign": "weekly-news"}"#)
    }

    @Test func itsCommandsAreThereAndItsFileIsTaken() async throws {
        let commands = try blocks(of: "sh").flatMap { $0.components(separatedBy: "\n") }
            .filter { $0.hasPrefix("fanfare campaigns ") }
        #expect(commands.count == 12)
        for command in commands {
            let words = command.split(separator: " ").dropFirst().prefix(2).map(String.init)
            #expect(
                try await fanfare(["help"] + words).output.contains { $0.hasPrefix("USAGE: fanfare ") },
                "\(command)"
            )
        }
        // Moved to the far future, because the article's times will pass.
        let yaml = try #require(blocks(of: "yaml").first).replacing("2026-12-01", with: "2999-12-01")
        let set = try CampaignSet(RulesFile(yaml: yaml, named: "campaigns.yaml", of: .campaign).rules)
        let plan = try await toolDatabase().plan(set, prune: false)
        #expect(plan.text.contains("next 2999-12-01 09:00 America/New_York (2999-12-01 14:00 UTC)"))
        #expect(plan.text.contains("+ shop/shop-closes\n    manual\n+ shop/weekly-news\n    next "))
    }
}
