import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools

/// Campaigns that are started by hand, and looked at.
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
            )
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
        #expect(started.text == "occurrence \(started.occurrenceID), event \(event), devices: 3")
        #expect(
            try sql("SELECT payload - 'scheduled_at' FROM fanfare.outbox WHERE id = $1", "\(event)")
                == [#"{"n": 2, "sale": "winter", "campaign": "hello"}"#]
        )
        let again = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(again.kind == .failed && again.reason.hasPrefix("campaign hello is running since "))
    }

    @Test func whatReachesManyIsStartedOnlyIfItIsMeant() async throws {
        let world = try World()
        try world.devices(1001)
        try world.put(campaign: "hello")
        try world.schedule()
        let error = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(error.kind == .usage)
        #expect(error.reason == "it would reach 1001 devices now; nothing was started")
        #expect(error.hint == "Add --yes if that is meant.")
        #expect(try world.occurrences("hello").isEmpty)
        let started = try await start("hello", yes: true)
        #expect(started.eventID != nil && started.devices == nil)
    }

    @Test func anAudienceThatNobodyCountsNeedsAYes() async throws {
        let world = try World()
        try world.put(campaign: "fcm", #""to": {"fcm_topic": "news"}"#)
        try world.put(campaign: "named", #""to": {"topic": "{{group}}"}"#)
        try world.schedule()
        let kept = try await #require(throws: ToolError.self) { try await start("fcm") }
        #expect(kept.kind == .usage && kept.reason.contains("fcm keeps the audience"))
        let nameless = try await #require(throws: ToolError.self) { try await start("named") }
        #expect(nameless.kind == .usage && nameless.reason.contains("group"))
        #expect(try await start("named", payload: #"{"group": "a"}"#).devices == 0)
    }

    @Test func whatCannotBeStartedSaysWhy() async throws {
        let world = try World()
        let unknown = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(unknown.kind == .failed && unknown.reason == "app shop has no campaign hello")
        try world.put(campaign: "hello")
        let early = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(early.reason == "campaign hello is not checked yet")
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'hello')")
        let paused = try await #require(throws: ToolError.self) { try await start("hello") }
        #expect(paused.reason == "campaign hello is paused")
        let list = try await #require(throws: ToolError.self) { try await start("hello", payload: "[]") }
        #expect(list.kind == .usage)
    }

    @Test func whereItsRuleIsRefusedItFails() async throws {
        let world = try World()
        try world.put(campaign: "hello")
        try world.schedule()
        _ = try world.connection.query("UPDATE fanfare.rule_versions SET state = 'refused', reason = 'too new'")
        let started = try await start("hello", yes: true)
        #expect(started.eventID == nil)
        #expect(started.text == "occurrence \(started.occurrenceID) failed: its rule is refused: too new")
        let row = try #require(try await toolDatabase().campaigns(app: nil).first)
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
                #expect(try await database.campaigns(app: nil).map(\.name) == ["hello"])
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
        #expect(text.contains("event \(event), running: 0 of 4 ended, 4 left, 0 accepted\n"))
        #expect(text.hasSuffix("\n4         pending  not_attempted"))
        #expect(report.json["newest"]?["left"] == 4)
        #expect(report.json["occurrences"]?.arrayValue?.count == 1)
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
            // Two of four are sent, then the rest is.
            let outcomes = step == 1 ? "01010000" : "01010101"
            try sql("UPDATE fanfare.batches SET outcomes = decode($1, 'hex')", outcomes)
            if step == 2 { try sql("UPDATE fanfare.occurrences SET state = 'done', ended_at = now()") }
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
                "running: 0 of 4 ended, 4 left, 0 accepted", "running: 2 of 4 ended, 2 left, 2 accepted",
                "done: 4 of 4 ended, 0 left, 4 accepted",
            ]
        )
        #expect(bars.map { bar in bar.count { $0 == "#" } } == [0, 15, 30])
        #expect(clock.slept == [.seconds(1), .seconds(1)])
    }

    @Test func whereALookTakesLongTheNextComesLater() {
        #expect(ToolDatabase.pause(afterLook: .milliseconds(5)) == .seconds(1))
        #expect(ToolDatabase.pause(afterLook: .seconds(3)) == .seconds(9))
    }

    @Test func whatIsTriedAgainIsNotEnded() {
        let occurrence = OccurrenceRow(
            id: 1,
            scheduledAt: Timestamp(microseconds: 0),
            eventID: 7,
            state: "running",
            detail: nil
        )
        // Ten pairs: of three that were tried again one is accepted now, and one waits for its second answer.
        let progress = CampaignProgress(
            occurrence,
            event: 7,
            counts: [
                PairCount(outcome: "accepted", reason: "accepted", count: 6, firstAttempts: 5),
                PairCount(outcome: "retrying", reason: "server_error", count: 3, firstAttempts: 3),
                PairCount(outcome: "pending", reason: "not_attempted", count: 2, firstAttempts: 1),
                PairCount(outcome: "gone", reason: "Unregistered", count: 1, firstAttempts: 1),
            ]
        )
        #expect(progress.planned == 10 && progress.ended == 7 && progress.left == 3)
    }
}

/// A clock on which no time passes but what is slept, at once; something is done each time.
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
