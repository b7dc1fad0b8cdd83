import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// Campaigns that are started and watched manually.
@Suite(.database) struct CampaignRunTests {
    private func start(
        _ name: String,
        payload: String = "{}",
        yes: Bool = false,
        user: String? = nil
    ) async throws -> CampaignStarted {
        try await toolDatabase(user: user).whileOpen { database throws(any Error) in
            try await database.startCampaign(
                app: "shop",
                name: name,
                payload: payload,
                isConfirmed: yes,
                toolConfiguration()
            ).get()
        }
    }

    @Test func startedItSaysWhichEventItBecame() async throws {
        let world = try World()
        try world.devices(3)
        try world.put(campaign: "hello", #""payload": {"sale": "winter", "n": 1}"#)
        try world.schedule()
        let started = try await start("hello", payload: #"{"n": 2}"#)
        #expect(started.devices == 3)
        let event = try #require(started.eventID)
        #expect(started.text == "run \(started.runID), event \(event), devices: 3")
        #expect(
            try sql("SELECT payload - 'scheduled_at' FROM fanfare.outbox WHERE id = $1", "\(event)")
                == [#"{"n": 2, "sale": "winter", "campaign": "hello"}"#]
        )
        let again = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(again.kind == .failed && again.reason.hasPrefix("campaign hello is running since "))
        #expect(again.hint == "Wait until it is done, or run `fanfare campaigns abort`.")
    }

    @Test func whatReachesManyIsStartedOnlyIfItIsMeant() async throws {
        let world = try World()
        try world.devices(1001)
        try world.put(campaign: "hello")
        try world.schedule()
        let error = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(error.kind == .usage)
        #expect(error.reason == "it would reach 1001 devices now; nothing was started")
        #expect(error.hint.isEmpty && error.typed.hint == "Add --yes if that is meant.")
        #expect(try world.runs("hello").isEmpty)
        let started = try await start("hello", yes: true)
        #expect(started.eventID != nil && started.devices == nil)
    }

    @Test func anAudienceThatNobodyCountsNeedsAYes() async throws {
        let world = try World()
        try world.put(campaign: "fcm", #""to": {"fcm_topic": "news"}"#)
        try world.put(campaign: "named", #""to": {"topic": "{{group}}"}"#)
        try world.schedule()
        let kept = try await #require(throws: ToolError.self) { try await start("fcm") }
        #expect(kept.kind == .usage && kept.reason.contains("fcm manages the audience"))
        #expect(kept.hint.isEmpty && kept.typed.hint == "Add --yes to start it all the same.")
        let nameless = try await #require(throws: ToolError.self) { try await start("named") }
        #expect(nameless.kind == .usage && nameless.reason.contains("group"))
        #expect(try await start("named", payload: #"{"group": "a"}"#).devices == 0)
    }

    @Test func whatCannotBeStartedSaysWhy() async throws {
        let world = try World()
        let unknown = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(unknown.kind == .failed && unknown.reason == "app shop has no campaign hello")
        #expect(unknown.hint.isEmpty && unknown.typed.hint == "See `fanfare campaigns list`.")
        #expect(unknown.typed.isAbsence)
        try world.put(campaign: "hello")
        let early = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(early.reason == "campaign hello is not checked yet")
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'hello')")
        let paused = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(paused.reason == "campaign hello is paused")
        #expect(paused.hint == "Run `fanfare campaigns resume` first.")
        let list = try await #require(throws: ToolError.self) { try await start("hello", payload: "[]") }
        #expect(list.kind == .usage && list.reason == "the payload is an array, not an object")
        #expect(list.typed.reason == "--payload is an array, not an object" && list.typed.hint == list.hint)
    }

    @Test func whereItsRuleIsRefusedItFails() async throws {
        let world = try World()
        try world.put(campaign: "hello")
        try world.schedule()
        _ = try world.connection.query("UPDATE fanfare.rule_versions SET state = 'refused', reason = 'too new'")
        let started = try await start("hello", yes: true)
        #expect(started.eventID == nil)
        #expect(started.text == "run \(started.runID) failed: its rule is refused: too new")
        let row = try #require(try await toolDatabase().stored(CampaignSet.self, app: nil).first)
        #expect(row.note == "version 1 is refused: its rule: too new")
        let report = try await toolDatabase().campaign(app: "shop", name: "hello")
        #expect(report.progress == nil && report.text.hasSuffix("  failed  -      its rule is refused: too new"))
    }

    @Test func anAuthorStartsWhatIsMeantAndAReaderLooksOn() async throws {
        let world = try World()
        try world.put(campaign: "hello", schedule: #"{"cron": "@daily"}"#)
        try world.schedule()
        try await withRole(in: "fanfare_author") { role throws in
            #expect(try await start("hello", yes: true, user: role).eventID != nil)
        }
        try world.plan()
        try await withRole(in: "fanfare_reader") { role throws in
            try await toolDatabase(user: role).whileOpen { database throws(any Error) in
                #expect(try await database.stored(CampaignSet.self, app: nil).map(\.name) == ["hello"])
                #expect(try await database.campaign(app: "shop", name: "hello").forecast.times.count == 3)
            }
        }
    }

    @Test func itIsShownWithItsTimesAndWhatBecameOfThem() async throws {
        let world = try World()
        try world.devices(4)
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *"}"#, #""ttl": "4h""#)
        try world.schedule(at: "'2026-01-05 00:00Z'")
        try world.schedule(at: "'2026-01-05 09:00Z'")
        try world.plan()
        let report = try await toolDatabase().campaign(app: "shop", name: "daily")
        #expect(report.isRunning)
        #expect(report.progress?.planned == 4 && report.progress?.left == 4 && report.progress?.ended == 0)
        let event = try #require(report.progress?.eventID)
        let text = report.text
        #expect(text.hasPrefix("shop/daily  active, version 1\n  schedule: 0 9 * * * UTC\n  next "))
        #expect(report.forecast.times.count == 3)
        #expect(text.contains("\n  ttl: 4h\n"))
        #expect(text.contains("\n2026-01-05 09:00 UTC  running  \(event)"))
        #expect(text.hasSuffix("event \(event), running: 0 of 4 ended, 0 accepted"))
        #expect(report.json["newest"]?["left"] == 4)
        #expect(report.json["runs"]?.arrayValue?.count == 1)
        let unknown = await #expect(throws: ToolError.self) {
            try await toolDatabase().campaign(app: "shop", name: "dayly")
        }
        #expect(unknown?.reason == "app shop has no campaign dayly")
    }

    @Test func itIsWatchedUntilItHasEnded() async throws {
        let world = try World()
        try world.devices(4)
        try world.put(campaign: "hello")
        try world.schedule()
        let event = try #require(try await start("hello").eventID)
        try world.plan()
        let steps = Locked(0)
        let clock = SteppedClock {
            let step = steps.withLock { steps in
                steps += 1
                return steps
            }
            // Two of four deliveries are sent first, then the rest.
            try sql(
                """
                INSERT INTO fanfare.stats_pending (at, rule_version, target_id, outcome, deliveries, gate_id)
                SELECT clock_timestamp() - interval '10 minutes', 1, 1, 1, 2, gate_id FROM fanfare.runs
                """
            )
            if step == 2 { try sql("UPDATE fanfare.runs SET state = 'done', ended_at = now()") }
        }
        var lines: [String] = []
        var bars: [String] = []
        try await toolDatabase().watchCampaign(app: "shop", name: "hello", clock: clock) { progress in
            #expect(progress.eventID == event)
            lines.append(progress.line)
            bars.append(String(progress.bar.prefix(32)))
        }
        #expect(
            lines == [
                "running: 0 of 4 ended, 0 accepted", "running: 2 of 4 ended, 2 accepted",
                "done: 4 of 4 ended, 4 accepted",
            ]
        )
        #expect(bars.map { bar in bar.count { $0 == "#" } } == [0, 15, 30])
        #expect(clock.slept == [.seconds(1), .seconds(1)])
    }

    /// Seven deliveries wait for a retry; 30 ended in the last minute, the first of them ten seconds ago.
    @Test func itSaysHowFastItGoesAndWhenItWillBeThrough() async throws {
        let world = try World()
        try world.devices(100)
        try world.put(campaign: "slow", #""rate": "2/s""#)
        try world.schedule()
        _ = try await start("slow")
        try world.plan()
        try sql(
            """
            INSERT INTO fanfare.stats_pending (at, rule_version, target_id, outcome, deliveries, gate_id)
            SELECT now() - interval '10 s', 1, 1, o.outcome, o.deliveries, gate_id
            FROM fanfare.runs, (VALUES (1, 20), (35, 7), (64, 6), (96, 4)) AS o (outcome, deliveries);
            """
        )
        try sql(
            """
            INSERT INTO fanfare.gate_stats SELECT gate_id, 1, 40 FROM fanfare.runs
            """
        )
        let progress = try #require(try await toolDatabase().campaign(app: "shop", name: "slow").progress)
        #expect(progress.planned == 100 && progress.ended == 70 && progress.left == 30)
        #expect(progress.run.accepted == 60 && progress.run.failed == 4)
        #expect(progress.run.perSecond == 2)
        #expect(try (2.5...3).contains(#require(progress.run.pace)))
        // Thirty deliveries at two per second, although the last minute was faster.
        let end = try #require(progress.run.endsAt).microseconds - Clocks.wall
        #expect((10 * Micros.second...16 * Micros.second).contains(end))
        #expect(progress.attempts.map(\.count) == [60, 7, 6, 4])
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'slow')")
        let paused = try #require(try await toolDatabase().campaign(app: "shop", name: "slow").progress)
        #expect(paused.line.hasSuffix("paused: campaign slow is paused"))
        #expect(paused.run.endsAt == nil)
    }
}

/// A clock that advances only by sleeping, which returns at once; an action runs each time.
private final class SteppedClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private let naps = Locked<[Duration]>([])
    private let step: @Sendable () throws -> Void

    init(_ step: @escaping @Sendable () throws -> Void) { self.step = step }

    var slept: [Duration] { naps.withLock { $0 } }
    var now: Instant { Instant(offset: slept.reduce(.zero, +)) }
    let minimumResolution = Duration.zero

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let nap = now.duration(to: deadline)
        naps.withLock { $0.append(nap) }
        try step()
    }
}
