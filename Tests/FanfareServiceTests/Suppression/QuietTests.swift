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

/// Quiet hours, and deliveries that are held until they, or a user's snooze, end.
@Suite(.database)
struct QuietTests {
    // Planned in one batch at any time of day.
    private static let all = #"{"users": "$.u"}"#
    private static let night = #""quiet_hours": {"from": "22:00", "until": "08:00"}"#
    /// 23:30 in Madrid, 17:30 in New York, 07:30 in Tokyo, 22:30 by UTC.
    private static let evening = "2026-11-26 22:30:00+00"

    let world: World

    /// Creates four devices in different zones, and one without a zone.
    init() throws {
        world = try World()
        for (token, zone) in [
            ("aa10", "Asia/Tokyo"), ("aa11", "Europe/Madrid"), ("aa12", "America/New_York"), ("aa13", "UTC"),
        ] {
            try world.device(token, user: token, "time_zone => '\(zone)'")
        }
        try world.device("aa14", user: "aa14")
    }

    /// Emits and plans an event as if it were evening.
    private func emit(
        _ event: String,
        _ payload: String = #"{"u": ["aa10", "aa11", "aa12", "aa13", "aa14"]}"#
    ) throws -> Int64 {
        try world.emit(event, payload, at: Self.evening)
    }

    /// Claims and prepares an event in the evening.
    ///
    /// - Returns: the tokens that it is sent to, and for the others the outcome and the time of sending, in hours since
    ///   the previous midnight by UTC.
    private func prepare(_ event: String) throws -> (tokens: [String], outcomes: [Int: Outcome], hours: [Int: Double?])
    {
        _ = try emit(event)
        let midnight = try world.microseconds("2026-11-26 00:00+00")
        let one = try #require(try world.prepare(try world.claim()).first)
        var outcomes: [Int: Outcome] = [:]
        var hours: [Int: Double?] = [:]
        for result in one.decided {
            outcomes[Int(result.position)] = result.outcome
            hours[Int(result.position)] = .some(nil)
            guard case .again(let at, let history, let target)? = result.followUp else { continue }
            #expect(history == one.batch.claimed.history.held && target == one.batch.target.id)
            hours[Int(result.position)] = Double(at - midnight) / Double(Micros.hour)
        }
        return (one.batch.deliveries.map(\.token), outcomes, hours)
    }

    @Test func aRulesOwnHoldInEachDevicesZone() throws {
        try world.rule("r", event: "e", to: Self.all, Self.night)
        try world.put(policy: #"{"time_zone": "Europe/Madrid"}"#)
        let sent = try prepare("e")
        #expect(sent.tokens == ["aa12"])
        #expect(sent.outcomes == [0: .heldQuiet, 1: .heldQuiet, 3: .heldQuiet, 4: .heldQuiet])
        #expect(sent.hours == [0: 23, 1: 31, 3: 32, 4: 31], "who has no zone is where the policy says")
    }

    @Test func anAppsHoldForAllButTheUrgentAndThoseThatSayOtherwise() throws {
        try world.put(policy: #"{"quiet_hours": {"from": "22:00", "until": "08:00", "mode": "drop"}}"#)
        _ = world.orders.replace(rates: [], quiet: try world.connection.run(SQL.liveQuiet()))
        try world.rule("plain", event: "plain", to: Self.all)
        try world.rule("off", event: "off", to: Self.all, #""quiet_hours": "off""#)
        try world.rule("own", event: "own", to: Self.all, #""quiet_hours": {"from": "17:00", "until": "18:00"}"#)
        try world.rule("urgent", event: "urgent", to: Self.all, #""lane": "transactional""#)
        try world.rule("both", event: "both", to: Self.all, #""lane": "transactional", "# + Self.night)
        #expect(try prepare("plain").outcomes == [0: .quiet, 1: .quiet, 3: .quiet, 4: .quiet])
        #expect(try prepare("off").tokens.count == 5)
        #expect(try prepare("own").hours == [2: 23])
        #expect(try prepare("urgent").tokens.count == 5)
        #expect(try prepare("both").tokens.count == 1)
        try world.put(policy: "{}")
        #expect(try prepare("plain").tokens.count == 5, "what is told of an app is only where to look")
    }

    @Test func whatTheUserSaidComesFirstAndOfTwoTimesTheLaterCounts() throws {
        try world.rule("kept", event: "kept", to: Self.all, Self.night + #", "category": "c""#)
        try world.rule("dropped", event: "dropped", to: Self.all, #""category": "c""#)
        try world.connection.execute(
            """
            SELECT fanfare.set_preference('shop', 'aa10', 'c', true), fanfare.snooze('shop', 'aa11', '2026-11-27 06:00+00'),
                fanfare.snooze('shop', 'aa12', '2026-11-27 00:00+00'), fanfare.snooze('shop', 'aa13', '2026-11-27 09:00+00')
            """
        )
        let kept = try prepare("kept")
        #expect(kept.outcomes == [0: .optedOut, 1: .heldQuiet, 2: .heldSnoozed, 3: .heldSnoozed, 4: .heldQuiet])
        #expect(kept.hours == [0: nil, 1: 31, 2: 24, 3: 33, 4: 32])
        #expect(try prepare("dropped").outcomes == [0: .optedOut, 1: .snoozed, 2: .snoozed, 3: .snoozed])
    }

    @Test func whatCannotBeInTimeIsLateAtOnce() throws {
        try world.rule("short", event: "short", to: Self.all, Self.night + #", "ttl": "9h""#)
        #expect(try prepare("short").outcomes == [0: .heldQuiet, 1: .heldQuiet, 3: .expiredQuiet, 4: .expiredQuiet])
    }

    @Test func whatIsHeldRepeatsNothing() throws {
        try world.rule("r", event: "e", to: Self.all, Self.night)
        let event = try emit("e", #"{"u": ["aa10", "aa11", "aa12"]}"#)
        try world.connection.execute("UPDATE fanfare.batches SET due_at = '2026-11-26 22:00+00', history = 3")
        let one = try #require(try world.prepare(try world.claim()).first)
        let accepted = one.batch.deliveries.map { DeliveryResult(acceptedAt: $0.position) }
        world.record([
            .opened(one.batch, decided: one.decided), .results(one.batch.claimed.claim, accepted, slots: 0),
        ])
        let children = try world.connection.column(
            """
            SELECT concat_ws(' ', b.attempt, b.history, b.is_retry, b.due_at AT TIME ZONE 'UTC', b.parent_id = p.id,
                round(extract(epoch FROM b.not_before - clock_timestamp()) / 300))
            FROM fanfare.batches AS b CROSS JOIN fanfare.batch_log AS p ORDER BY b.not_before
            """
        )
        #expect(children == ["2 2097155 f 2026-11-26 22:00:00 t 6", "2 2097155 f 2026-11-26 22:00:00 t 102"])
        let held = ["retrying/quiet_hours", "pending/not_attempted"]
        #expect(try world.outcomes(event) == held + held + ["accepted/accepted"])

        // A held retry stays a retry; a daemon that takes over from a dead one knows only that it was one.
        try world.connection.execute(
            "UPDATE fanfare.batches SET is_retry = true, not_before = now(), outcomes = '\\x2f'"
        )
        let rescued = try world.prepare(try world.claim(owner: 2), owner: 2)
        #expect(rescued.count == 2 && rescued.allSatisfy { $0.batch.deliveries.isEmpty && $0.decided.isEmpty })
        world.record(rescued.map { .opened($0.batch, decided: $0.decided) })
        let again =
            "SELECT concat_ws(' ', attempt, history, is_retry, not_before < now() + interval '1 minute') FROM fanfare.batches"
        #expect(try world.connection.column(again) == ["3 2097155 t t", "3 2097155 t t"])
    }
}
