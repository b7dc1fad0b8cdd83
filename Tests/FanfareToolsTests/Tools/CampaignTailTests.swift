import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The lines of `fanfare tail` about campaigns.
@Suite(.database) struct CampaignTailTests {
    private let clock = Locked<Microseconds>(0)

    /// Follows everything that passes a filter, with a clock that the test advances.
    private func tail(_ change: (inout LogTail.Filter) -> Void = { _ in }) throws -> LogTail {
        var filter = LogTail.Filter()
        change(&filter)
        let clock = clock
        return try toolDatabase().tail(filter) { clock.withLock { $0 } }
    }

    /// Returns the new lines of campaigns: their text after the event.
    private func look(_ tail: LogTail, after time: Microseconds = CampaignWatch.pause) throws -> [String] {
        clock.withLock { $0 += time }
        return try tail.next().compactMap { line in
            guard case .campaign(let progress) = line.subject else { return nil }
            return "\(progress.run.campaign) \(progress.line)"
        }
    }

    /// Starts and plans a campaign to all devices; two of its deliveries have ended.
    private func start(_ name: String, in world: World) throws -> Int64 {
        try world.put(campaign: name)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', $1)", name)
        try world.plan()
        try end(2, of: name, in: world)
        return try world.connection.number(
            "SELECT max(event_id) FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id WHERE c.name = $1",
            name
        )
    }

    private func end(_ deliveries: Int, of name: String, in world: World) throws {
        _ = try world.connection.query(
            """
            INSERT INTO fanfare.stats_pending (at, rule_version, target_id, outcome, deliveries, gate_id)
            SELECT clock_timestamp() - interval '10 minutes', 1, 1, 1, $2::int, o.gate_id
            FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id WHERE c.name = $1
            """,
            name,
            String(deliveries)
        )
    }

    @Test func aCampaignIsToldOfWhenItHasComeOnAndOnceWhenItHasEnded() throws {
        let world = try World()
        try world.devices(5)
        let event = try start("hello", in: world)
        let tail = try tail()
        #expect(try look(tail) == ["hello running: 2 of 5 ended, 2 accepted"])
        try end(1, of: "hello", in: world)
        #expect(try look(tail, after: CampaignWatch.pause - 1).isEmpty, "it was looked at a moment ago")
        let text = try tail.nextText(after: 1, clock)
        #expect(text.hasSuffix("  campaign  running  campaign.shop.hello  \(event)  3 of 5 ended, 3 accepted"))
        #expect(try look(tail).isEmpty, "nothing has changed")
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'hello')")
        #expect(try look(tail) == ["hello running: 3 of 5 ended, 3 accepted, paused: campaign hello is paused"])
        try end(2, of: "hello", in: world)
        _ = try world.connection.query("SELECT fanfare.resume_campaign('shop', 'hello')")
        try sql("UPDATE fanfare.runs SET state = 'done', ended_at = now()")
        #expect(try look(tail) == ["hello done: 5 of 5 ended, 5 accepted"])
        #expect(try look(tail).isEmpty)
    }

    @Test func filtersLeaveOtherCampaignsOut() throws {
        let world = try World()
        try world.devices(3)
        let event = try start("a", in: world)
        _ = try start("b", in: world)
        let a = "a running: 2 of 3 ended, 2 accepted"
        #expect(try look(tail()) == [a, a.replacing("a running", with: "b running")])
        #expect(try look(tail { $0.rule = "campaign/a" }) == [a])
        #expect(try look(tail { $0.eventType = "campaign.shop.a" }) == [a])
        #expect(try look(tail { $0.eventID = event }) == [a])
        #expect(try look(tail { $0.app = "shop" }).count == 2)
        #expect(try look(tail { $0.app = "store" }).isEmpty)
        #expect(try look(tail { $0.rule = "a" }).isEmpty)
        for filter in [{ $0.user = "ann" }, { $0.outcomes = ["running"] }] as [(inout LogTail.Filter) -> Void] {
            #expect(try look(tail(filter)).isEmpty, "these choose single pushes")
        }
    }

    @Test func jsonTellsWhatTheViewTells() throws {
        let world = try World()
        try world.devices(4)
        let event = try start("hello", in: world)
        let json = try #require(try tail().next().first?.json)
        #expect(json["event.id"]?.numberValue?.integer == event)
        #expect(
            json["event.type"] == "campaign.shop.hello" && json["campaign.name"] == "hello" && json["app"] == "shop"
        )
        #expect(json["state"] == "running" && json["planned"] == 4 && json["ended"] == 2 && json["left"] == 2)
    }
}

extension LogTail {
    /// Returns the next campaign line in the text format.
    fileprivate func nextText(after time: Microseconds, _ clock: Locked<Microseconds>) throws -> String {
        clock.withLock { $0 += time }
        return try #require(try next().last).text(colour: false)
    }
}
