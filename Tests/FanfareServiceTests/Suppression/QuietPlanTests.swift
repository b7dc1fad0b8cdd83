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

/// A broadcast in quiet hours is planned for their end.
@Suite(.database)
struct QuietPlanTests {
    /// Quiet hours from an hour ago until an hour from now by UTC; not quiet in other zones.
    private static let night = """
        SELECT format('{"from": "%s", "until": "%s"}', to_char(now() AT TIME ZONE 'UTC' - interval '1 h', 'HH24:MI'),
            to_char(now() AT TIME ZONE 'UTC' + interval '1 h', 'HH24:MI'))
        """
    /// Batches with their number of devices, whether they are due later, have no time of their own, and are marked as held.
    private static let batches = """
        SELECT concat_ws(' ', cardinality(device_ids), not_before > now() + interval '50 min', due_at IS NULL,
            history = \(RetryHistory.none.held.encoded))
        FROM fanfare.batches ORDER BY not_before
        """

    let world: World
    let night: String

    init() throws {
        world = try World()
        night = try world.connection.text(Self.night) ?? ""
        for (number, zone) in ["Asia/Tokyo", "UTC", "America/New_York", "Africa/Abidjan", "Asia/Tokyo"].enumerated() {
            try world.device("aa1\(number)", user: "u\(number)", "time_zone => '\(zone)'")
        }
        try world.device("aa19", user: "u9")
    }

    private func planned(_ rule: String) throws -> [String] {
        try world.rule("r", event: "e", to: #"{"everyone": true}"#, rule)
        try world.emit("e")
        try world.plan()
        return try world.connection.column(Self.batches)
    }

    @Test func whoSleepsIsInABatchForLater() throws {
        #expect(try planned(#""quiet_hours": \#(night)"#) == ["3 f t f", "3 t t t"])
        let now = try world.prepare(try world.claim())
        #expect(now.flatMap(\.decided).isEmpty && now.flatMap(\.batch.deliveries).count == 3)
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() WHERE owner IS NULL")
        let early = try world.prepare(try world.claim())
        #expect(early.flatMap(\.decided).map(\.outcome) == [.heldQuiet, .heldQuiet, .heldQuiet], "the claim decides")
    }

    @Test func soItIsInTheAppsQuietHours() throws {
        try world.put(policy: #"{"quiet_hours": \#(night), "time_zone": "Asia/Tokyo"}"#)
        #expect(try planned(#""lane": "bulk""#) == ["4 f t f", "2 t t t"])
    }

    @Test(arguments: [#""quiet_hours": "off""#, #""lane": "transactional""#, #""ttl": "10m""#])
    func whatWouldBeLateOrIsNotHeldIsForNow(rule: String) throws {
        try world.put(policy: #"{"quiet_hours": \#(night)}"#)
        _ = world.orders.replace(rates: [], quiet: ["shop"])
        #expect(try planned(rule) == ["6 f t f"])
        let outcomes = try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome)
        #expect(outcomes == (rule.contains("ttl") ? [.expiredQuiet, .expiredQuiet, .expiredQuiet] : []))
    }

    @Test func whatIsDroppedIsForNow() throws {
        let dropping = night.replacing("}", with: #", "mode": "drop"}"#)
        #expect(try planned(#""quiet_hours": \#(dropping)"#) == ["6 f t f"])
    }
}
