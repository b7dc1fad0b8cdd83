import Foundation
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareLogging
@testable import FanfareMoving
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// The generated sections of the articles and of `schema.sql` match the code; `FANFARE_UPDATE_DOCS=1` rewrites them.
@Suite(.serialized) struct ReferenceTests {
    @Test func theConfigurationIsDescribedAsItIs() throws {
        try expect("Configuration", section: "configuration", is: Configuration.reference)
    }

    @Test func theKeysOfARuleAreDescribedAsTheyAre() throws {
        try expect("Rules", section: "rules", is: RuleDefinition.reference)
    }

    @Test func theKeysOfACampaignAreDescribedAsTheyAre() throws {
        try expect("Campaigns", section: "campaigns", is: CampaignDefinition.reference)
    }

    @Test func theKeysOfAPolicyAreDescribedAsTheyAre() throws {
        let keys = DefinitionObject.policy.keys.flatMap { $0.described() }.map(\.reference)
        try expect("Policies", section: "policies", is: keys.joined(separator: "\n"))
    }

    @Test func theKeysOfAMessageAreDescribedAsTheyAre() throws {
        let keys = DefinitionObject.send.keys.flatMap { $0.described() }.map(\.reference)
        try expect("SQL", section: "send", is: keys.joined(separator: "\n"))
    }

    @Test func theColumnsOfAnImportAreDescribedAsTheyAre() throws {
        try expect("MovingIn", section: "columns", is: ImportField.reference)
    }

    @Test(arguments: Providers.names.map(\.rawValue))
    func aProviderIsDescribedAsItIs(name: String) throws {
        let provider = try #require(Providers.named(name))
        let article = Documentation.article(of: provider)
        try expect(article, section: "keys", is: provider.block.reference)
        try expect(article, section: "outcomes", is: provider.outcomes.reference)
        if let block = provider.messageBlock { try expect(article, section: "message", is: block.reference) }
    }

    @Test func theLogKeysAreListed() throws {
        let keys = LogKey.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."
        try expect("Log", section: "log keys", is: keys)
        #expect(try Documentation.text("Log").contains("`v` (version of this contract, now \(LogLine.version))"))
    }

    @Test func theSchemaHasTheOutcomes() throws {
        let insert = "INSERT INTO fanfare.outcome_codes AS c (code, outcome, reason, provider, meaning) VALUES\n"
        let file = Documentation.root.appending(path: "schema.sql")
        try expect(file, from: insert, to: "ON CONFLICT (code)", is: Outcome.sqlValues)
    }

    @Test func theSchemaHasTheKeysOfDefinitions() throws {
        let insert = "position, key, form, members, low, high, words, required, reason, hint) VALUES\n"
        let file = Documentation.root.appending(path: "schema.sql")
        try expect(file, from: insert, to: "ON CONFLICT (object, key)", is: DefinitionObject.sqlValues)
    }

    /// Compares the text between the section's two comments in an article.
    private func expect(_ article: String, section: String, is expected: String) throws {
        let (begin, end) = ("<!-- \(section): begin -->\n", "<!-- \(section): end -->")
        try expect(Documentation.file(article), from: begin, to: end, is: expected)
    }

    private func expect(_ file: URL, from before: String, to after: String, is expected: String) throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        let begin = try #require(text.range(of: before))
        let end = try #require(text.range(of: after, range: begin.upperBound..<text.endIndex))
        if ProcessInfo.processInfo.environment["FANFARE_UPDATE_DOCS"] == "1" {
            let updated = text[..<begin.upperBound] + expected + "\n" + text[end.lowerBound...]
            try String(updated).write(to: file, atomically: true, encoding: .utf8)
            return
        }
        #expect(text[begin.upperBound..<end.lowerBound] == expected + "\n", "FANFARE_UPDATE_DOCS=1 writes it")
    }
}
