import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The command line of `fanfare campaigns`.
@Suite(.database) struct CampaignCommandTests {
    private static let hello = "{ name: hello, app: shop, to: { everyone: true }, message: { data: { a: b } } }"

    private func campaigns(
        _ arguments: [String],
        input: String = ""
    ) async throws -> (status: Int32, output: [String], errors: [String]) {
        try await fanfare(
            ["campaigns"] + arguments,
            environment: ["DATABASE_URL": TestDatabase.current.url],
            input: input
        )
    }

    @Test func fromAFileToItsEnd() async throws {
        let world = try World()
        try world.devices(2)
        let plan = try await campaigns(["plan", "-"], input: Self.hello)
        #expect(plan.status == 0)
        #expect(plan.output.prefix(2) == ["+ shop/hello", "    manual"])
        let applied = try await campaigns(["apply", "-"], input: Self.hello)
        #expect(applied.status == 0 && applied.output.last?.hasPrefix("unchecked: no daemon runs") == true)
        try world.schedule()
        let list = try await campaigns(["list"])
        #expect(
            list.output == [
                "APP   NAME   STATE   SCHEDULE  NEXT  LAST  NOTE",
                "shop  hello  active  manual    -     -     -",
            ]
        )
        let explained = try await campaigns(["explain", "shop", "hello", "--payload", #"{"n": 1}"#])
        #expect(explained.status == 0 && explained.output.first == "shop/hello  active, version 1")
        #expect(explained.output.contains { $0.hasPrefix("  2 devices of 0 users would get it: apns 2") })
        let file = try await campaigns(["explain", "shop", "other", "--file", "-"], input: Self.hello)
        #expect(file.status == 1 && file.errors.last == "  fix: It has: shop/hello.")
        #expect(try await campaigns(["pause", "shop", "hello"]).output == ["paused"])
        let again = try await campaigns(["pause", "shop", "hello"])
        #expect(again.status == 0 && again.output == ["nothing to do"])
        let paused = try await campaigns(["start", "shop", "hello"])
        #expect(paused.status == 1 && paused.errors.first == "fanfare: campaign hello is paused")
        #expect(paused.errors.last == "  fix: Run `fanfare campaigns resume` first.")
        #expect(try await campaigns(["resume", "shop", "hello", "--json"]).output == [#"{"resumed":true}"#])
        let started = try await campaigns(["start", "shop", "hello", "--payload", #"{"n": 1}"#])
        #expect(
            started.status == 0 && started.output.first?.wholeMatch(of: /run 1, event \d+, devices: 2/) != nil
        )
        try world.plan()
        let shown = try await campaigns(["show", "shop", "hello"])
        #expect(shown.output.contains { $0.hasSuffix(", running: 0 of 2 ended, 0 accepted") })
        #expect(try await campaigns(["abort", "shop", "hello"]).output == ["aborted"])
        #expect(try await campaigns(["drop", "shop", "hello"]).output == ["dropped"])
        #expect(try await campaigns(["drop", "shop", "hello"]).output == ["nothing to do"])
        let gone = try await campaigns(["show", "shop", "hello"])
        #expect(gone.status == 1 && gone.errors.first == "fanfare: app shop has no campaign hello")
    }

    @Test func followedIntoAPipeItIsALineForEachLook() async throws {
        let world = try World()
        try world.device(String(repeating: "ab", count: 32))
        try world.put(campaign: "hello")
        try world.schedule()
        _ = try await campaigns(["start", "shop", "hello"])
        try world.plan()
        let run = Task { try await campaigns(["show", "shop", "hello", "--watch"]) }
        try sql("INSERT INTO fanfare.gate_stats SELECT gate_id, 1, 1 FROM fanfare.runs")
        try sql("UPDATE fanfare.runs SET state = 'done', ended_at = now()")
        let shown = try await run.value
        #expect(shown.status == 0)
        #expect(shown.output.last == "1         accepted  accepted")
        #expect(!shown.output.contains { $0.contains("\u{1B}") })
    }

    @Test func problemsAreExitCodes() async throws {
        let world = try World()
        try world.devices(1001)
        try world.put(campaign: "hello")
        try world.schedule()
        let many = try await campaigns(["start", "shop", "hello"])
        #expect(many.status == 64)
        #expect(
            many.errors == [
                "fanfare: it would reach 1001 devices now; nothing was started",
                "  fix: Add --yes if that is meant.",
            ]
        )
        let yes = try await campaigns(["start", "shop", "hello", "--yes"])
        #expect(yes.status == 0)
        let broken = try await campaigns(
            ["plan", "-"],
            input: Self.hello.replacing("to:", with: "schedule: { cron: x }, to:")
        )
        #expect(broken.status == 1)
        #expect(broken.errors.first?.hasPrefix("fanfare: standard input:1: schedule.cron: ") == true)
    }
}
