import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Quiet hours across changes of daylight saving time, and while the recipient changes the time zone.
@Suite(.database)
struct QuietClockTests {
    /// A night with a clock change.
    struct Night: Sendable {
        let zone: String
        /// A time in the night, and the time when quiet hours end.
        let at: String
        let wakes: String
    }

    /// From 22:00 to 08:00 while clocks go forward or back: by one hour, by half an hour, or at midnight.
    static let nights = [
        Night(zone: "Europe/Madrid", at: "2026-03-28 22:30Z", wakes: "2026-03-29 06:00Z"),
        Night(zone: "Europe/Madrid", at: "2026-10-24 21:30Z", wakes: "2026-10-25 07:00Z"),
        Night(zone: "America/New_York", at: "2026-03-08 04:30Z", wakes: "2026-03-08 12:00Z"),
        Night(zone: "America/New_York", at: "2026-11-01 03:30Z", wakes: "2026-11-01 13:00Z"),
        Night(zone: "America/Santiago", at: "2026-09-06 03:30Z", wakes: "2026-09-06 11:00Z"),
        Night(zone: "America/Santiago", at: "2026-04-05 01:30Z", wakes: "2026-04-05 12:00Z"),
        // 23:30 for the second time.
        Night(zone: "America/Santiago", at: "2026-04-05 03:30Z", wakes: "2026-04-05 12:00Z"),
        Night(zone: "Australia/Lord_Howe", at: "2026-10-03 13:00Z", wakes: "2026-10-03 21:00Z"),
        Night(zone: "Australia/Lord_Howe", at: "2026-04-04 12:30Z", wakes: "2026-04-04 21:30Z"),
        Night(zone: "Pacific/Auckland", at: "2026-09-26 11:30Z", wakes: "2026-09-26 19:00Z"),
        Night(zone: "Pacific/Auckland", at: "2026-04-04 10:30Z", wakes: "2026-04-04 20:00Z"),
    ]
    private static let quiet = #""quiet_hours": {"from": "22:00", "until": "08:00"}"#

    private func world(zone: String, _ more: String = "") throws -> World {
        let world = try World()
        try world.device("aa10", user: "ann", "time_zone => '\(zone)'")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, Self.quiet + more)
        return world
    }

    /// Returns the outcome of a due delivery, and the time until which it is held; nil if it is sent.
    private func claimed(by world: World, at time: String) throws -> (outcome: Outcome, until: Int64?)? {
        try world.setClock(time)
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now()")
        let one = try #require(try world.prepare(try world.claim()).first)
        guard let result = one.decided.first else {
            #expect(one.batch.deliveries.map(\.token) == ["aa10"])
            return nil
        }
        world.record([.opened(one.batch, decided: one.decided)])
        guard case .again(let until, _, _)? = result.followUp else { return (result.outcome, nil) }
        return (result.outcome, until)
    }

    @Test(arguments: nights)
    func aNightEndsAtEightByTheClockOfTheMorning(night: Night) throws {
        let world = try world(zone: night.zone)
        let wakes = try world.microseconds(night.wakes)
        _ = try world.emit("e", #"{"u": "ann"}"#, at: night.at)
        #expect(try #require(try claimed(by: world, at: night.at)) == (.heldQuiet, wakes))
        let justBefore = try #require(
            try world.connection.text("SELECT $1::timestamptz - interval '1 min'", night.wakes)
        )
        #expect(try #require(try claimed(by: world, at: justBefore)) == (.heldQuiet, wakes))
        #expect(try claimed(by: world, at: night.wakes) == nil, "it is morning")
    }

    @Test func whoTravelsWhileItIsHeldSleepsWhereTheyAre() throws {
        let world = try world(zone: "Europe/Madrid")
        let event = try world.emit("e", #"{"u": "ann"}"#, at: "2026-11-26 22:30Z")
        let first = try #require(try claimed(by: world, at: "2026-11-26 22:30Z"))
        #expect(first == (.heldQuiet, try world.microseconds("2026-11-27 07:00Z")))
        // 02:00 in New York; on arrival in Tokyo it is 16:00.
        try world.connection.execute("UPDATE fanfare.devices SET time_zone = 'America/New_York'")
        let second = try #require(try claimed(by: world, at: "2026-11-27 07:00Z"))
        #expect(second == (.heldQuiet, try world.microseconds("2026-11-27 13:00Z")))
        try world.connection.execute("UPDATE fanfare.devices SET time_zone = 'Asia/Tokyo'")
        #expect(try claimed(by: world, at: "2026-11-27 07:00Z") == nil)
        let held = ["retrying/quiet_hours", "retrying/quiet_hours", "pending/not_attempted"]
        #expect(try world.outcomes(event) == held)
    }

    /// It would be in time in Madrid, but expires before the next morning in New York.
    @Test(arguments: [("2026-11-27 07:00Z", Outcome.expiredQuiet), ("2026-11-27 08:31Z", .expired)])
    func whatIsHeldIsLateWhenItsTimeIsOver(at time: String, outcome: Outcome) throws {
        let world = try world(zone: "Europe/Madrid", #", "ttl": "10h""#)
        let event = try world.emit("e", #"{"u": "ann"}"#, at: "2026-11-26 22:30Z")
        #expect(try #require(try claimed(by: world, at: "2026-11-26 22:30Z")).outcome == .heldQuiet)
        try world.connection.execute("UPDATE fanfare.devices SET time_zone = 'America/New_York'")
        #expect(try #require(try claimed(by: world, at: time)) == (outcome, nil))
        let ends = ["retrying/quiet_hours", "expired/\(outcome.reason)"]
        #expect(try world.outcomes(event) == ends)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 0)
    }
}
