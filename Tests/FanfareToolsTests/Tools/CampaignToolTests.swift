import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// Campaigns from files.
@Suite(.database) struct CampaignToolTests {
    private static let digest = """
        - name: digest
          app: shop
          schedule: { cron: "30 8 1 1 *", time_zone: Europe/Madrid }
          to: { topic: news }
          message: { notification: { title: "News" } }
          ttl: 4h
        """
    private static let hello = """
        - name: hello
          app: shop
          to: { everyone: true }
          message: { notification: { title: "Hello" } }
        """

    private func set(_ yaml: String, _ file: String = "campaigns.yaml") throws -> CampaignSet {
        try CampaignSet(RulesFile(yaml: yaml, named: file, of: .campaign).rules)
    }

    @Test func theyAreAddedOnceAndMarkedAsFromAFile() async throws {
        let database = try toolDatabase()
        let set = try set(Self.digest + "\n" + Self.hello)
        #expect(try await database.plan(set, prune: false).items.map(\.change) == [.added, .added])
        #expect(try await database.stored(CampaignSet.self, app: nil).isEmpty)
        let applied = try await database.apply(set, prune: false)
        #expect(applied.stored.map(\.state) == ["unchecked", "unchecked"])
        #expect(applied.text.contains("no daemon runs"))
        #expect(!applied.hasRefused)
        #expect(try await database.stored(CampaignSet.self, app: "shop").map(\.isFromFile) == [true, true])
        #expect(try await database.apply(set, prune: false).plan.isEmpty)
        #expect(try await database.stored(CampaignSet.self, app: "shop").map(\.version) == [1, 1])
    }

    /// With the role's rights only, in one session, often enough that its statements get generic plans.
    @Test func anOperatorPausesAndResumesAsOftenAsItTakes() async throws {
        _ = try await toolDatabase().apply(set(Self.hello), prune: false)
        try sql("SELECT fanfare.take_campaign(id, version, NULL, now()) FROM fanfare.campaigns")
        try await withRole(in: "fanfare_operator") { role in
            try await toolDatabase(user: role).whileOpen { database in
                for _ in 0..<7 {
                    #expect(try await database.change(.pause, app: "shop", campaign: "hello"))
                    #expect(try await database.change(.resume, app: "shop", campaign: "hello"))
                }
                for _ in 0..<7 { _ = try await database.change(.abort, app: "shop", campaign: "hello") }
            }
        }
    }

    @Test func eachShowsWhenItWouldBeDueBeforeAnythingIsSaved() async throws {
        let plan = try await toolDatabase().plan(set(Self.digest + "\n" + Self.hello), prune: false)
        let year = try #require(try sql("SELECT extract(year FROM now() AT TIME ZONE 'Europe/Madrid')::int")[0])
        let next = try (1...3).map { try #require(Int(year)) + $0 }
        let lines = plan.text.components(separatedBy: "\n")
        #expect(
            lines == ["+ shop/digest"]
                + next.map { "    next \($0)-01-01 08:30 Europe/Madrid (\($0)-01-01 07:30 UTC)" }
                + ["+ shop/hello", "    manual", "2 added, 0 changed, 0 unchanged, 0 dropped"]
        )
        let times = plan.json["campaigns"]?.arrayValue?[0]["next"]?.arrayValue
        #expect(times?.count == 3)
        #expect(times?.first?["wall"]?.stringValue == "\(next[0])-01-01 08:30")
        #expect(times?.first?["at"]?.stringValue?.hasPrefix("\(next[0])-01-01T07:30:00") == true)
        #expect(times?.first?["time_zone"] == "Europe/Madrid")
    }

    @Test func aChangeIsShownByItsPath() async throws {
        let database = try toolDatabase()
        _ = try await database.apply(set(Self.digest), prune: false)
        let changed = try set(
            Self.digest.replacing("30 8 1 1 *", with: "@daily").replacing("ttl: 4h", with: "lane: normal")
        )
        let plan = try await database.plan(changed, prune: false)
        #expect(
            plan.items.flatMap(\.differences).map(\.text).sorted() == [
                "lane: (none) → \"normal\"", "schedule.cron: \"30 8 1 1 *\" → \"@daily\"", "ttl: \"4h\" → (none)",
            ]
        )
        _ = try await database.apply(changed, prune: false)
        #expect(try await database.stored(CampaignSet.self, app: nil).map(\.version) == [2])
    }

    @Test func pruningDropsOnlyWhatCameFromFilesOfTheSameApps() async throws {
        let database = try toolDatabase()
        let foreign = Self.hello.replacing("app: shop", with: "app: other")
        _ = try await database.apply(
            set([Self.digest, Self.hello, foreign].joined(separator: "\n")),
            prune: false
        )
        try sql(
            """
            SELECT fanfare.put_campaign('{"app": "shop", "name": "by-sql", "to": {"everyone": true},
                "message": {"notification": {"title": "t"}}}')
            """
        )
        let kept = try await database.apply(set(Self.digest), prune: false)
        #expect(kept.plan.text.hasSuffix("0 dropped\n1 of other files kept; --prune drops what is not in these"))
        #expect(!kept.plan.text.contains("- shop/hello") && kept.plan.isEmpty)
        #expect(try await database.stored(CampaignSet.self, app: nil).count == 4)
        _ = try await database.apply(set(Self.digest), prune: true)
        #expect(
            try await database.stored(CampaignSet.self, app: nil).map { "\($0.app)/\($0.name)" } == [
                "other/hello", "shop/by-sql", "shop/digest",
            ]
        )
    }

    @Test func allProblemsAreFoundByTheirLines() throws {
        let hour = Self.digest.replacing("30 8 1 1 *", with: "0 24 * * *")
        let event = Self.hello.replacing("to: {", with: "event: x\n  to: {")
        let error = try #require(throws: ToolError.self) { try set(hour + "\n" + event) }
        let lines = error.reason.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("campaigns.yaml:3: schedule.cron: hour: "))
        #expect(lines[1].hasPrefix("campaigns.yaml:9: event: "))
    }

    @Test func oneNameInTwoFilesIsFound() throws {
        let first = try RulesFile(yaml: Self.hello, named: "a.yaml", of: .campaign).rules
        let second = try RulesFile(yaml: Self.hello, named: "b.yaml", of: .campaign).rules
        let error = #expect(throws: ToolError.self) { try CampaignSet(first + second) }
        #expect(error?.reason == "b.yaml:1: name: is in a.yaml:1 already")
        let twice = #expect(throws: RulesFileError.self) { try set(Self.hello + "\n" + Self.hello) }
        #expect(
            twice?.description
                == "campaigns.yaml:5: name: the app “shop” has a campaign “hello” in line 1 already"
        )
    }

    @Test func whatOnlyPostgreSQLSeesIsFoundByItsLine() async throws {
        let campaigns = [
            Self.digest.replacing("Europe/Madrid", with: "Mars/Base"),
            Self.hello.replacing("everyone: true", with: "users: customer"),
            """
            - name: past
              app: shop
              schedule: { at: 2020-12-01T09:00, time_zone: America/New_York }
              to: { everyone: true }
              message: { data: { a: b } }
            """,
        ]
        let error = try await #require(throws: ToolError.self) {
            try await toolDatabase().apply(set(campaigns.joined(separator: "\n")), prune: false)
        }
        let lines = error.reason.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("campaigns.yaml:3: schedule.time_zone: 'Mars/Base' is not a time zone"))
        #expect(lines[1].hasPrefix("campaigns.yaml:9: to.users: is not a jsonpath"))
        #expect(lines[2].hasPrefix("campaigns.yaml:13: schedule.at: 2020-12-01T09:00 has passed; write a time to come"))
        #expect(try await toolDatabase().stored(CampaignSet.self, app: nil).isEmpty)
    }

    @Test func aTimeThatHasPassedMayStayInItsFile() async throws {
        let world = try World()
        let once = Self.hello + "\n  schedule: { at: \"2999-01-01T09:00\" }"
        let database = try toolDatabase()
        _ = try await database.apply(set(once), prune: false)
        try world.schedule()
        let past = once.replacing("2999", with: "2020")
        _ = try world.connection.query(
            "UPDATE fanfare.campaigns SET definition = replace(definition::text, '2999', '2020')::json"
        )
        let plan = try await database.plan(set(past), prune: false)
        #expect(plan.text.hasPrefix("= shop/hello\n    no further runs\n"))
        // The text may change, but the time may not change to another past time.
        let text = past.replacing("title: \"Hello\"", with: "title: \"Hallo\"")
        #expect(try await database.plan(set(text), prune: false).items.map(\.change) == [.changed])
        let other = past.replacing("2020", with: "2021")
        await #expect(throws: ToolError.self) { try await database.plan(set(other), prune: false) }
    }

    @Test func theTableSaysWhatIsDueAndWhatIsRefused() async throws {
        let world = try World()
        let database = try toolDatabase()
        _ = try await database.apply(set(Self.digest + "\n" + Self.hello), prune: false)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'hello')")
        try world.put(campaign: "bad", schedule: #"{"cron": "61 * * * *"}"#)
        try world.schedule()
        let rows = try await database.stored(CampaignSet.self, app: "shop")
        #expect(rows.map(\.name) == ["bad", "digest", "hello"])
        #expect(rows.map(\.state) == ["refused", "active", "active"])
        #expect(rows.map(\.scheduleText) == ["61 * * * * UTC", "30 8 1 1 * Europe/Madrid", "manual"])
        #expect(rows[0].note?.hasPrefix("version 1 is refused: schedule.cron: minute: ") == true)
        #expect(rows[1].nextText?.hasSuffix("-01-01 07:30 UTC)") == true)
        #expect(rows[2].lastState == "running")
        #expect(CampaignRow.table(rows).contains(" running"))
        #expect(rows[1].json["next_at"]?.stringValue?.contains("-01-01T07:30:00") == true)
        #expect(
            try await database.stored(RuleSet.self, app: nil).isEmpty,
            "what campaigns become is not among the rules"
        )
        #expect(try await database.ruleSet(app: nil).apps == ["shop"], "but can be explained")
    }

    @Test func anAuthorNeedsNoOtherRole() async throws {
        try await withRole(in: "fanfare_author") { role throws in
            let database = try toolDatabase(user: role)
            #expect(try await database.apply(set(Self.digest), prune: true).stored.count == 1)
            try World().schedule()
            for change in CampaignChange.allCases {
                let isChanged = try await database.change(change, app: "shop", campaign: "digest")
                #expect(isChanged == (change != .abort), "\(change)")
            }
            #expect(try await database.change(.drop, app: "shop", campaign: "digest") == false)
            await database.close()
        }
    }
}
