import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The output of `why` for pushes that a daemon sent or suppressed.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct WhyFlowTests {
    /// Returns an event's result for a user in one line: outcome, reason and explanation.
    private static func line(_ world: World, _ event: Int64, _ user: String) throws -> String {
        let row = try world.connection.query(
            "SELECT outcome, reason, detail FROM fanfare.why_verdict($1, $2)",
            String(event),
            user
        ).rows[0]
        return row.map { $0 ?? "" }.joined(separator: " | ")
    }

    private static func users(_ more: String = "") -> String { #"{"users": "$.u"\#(more)}"# }

    /// Creates every rule, device and user that the causes need.
    private static func furnish(_ world: World) throws {
        try world.connection.execute(
            #"SELECT fanfare.put_policy('shop', '{"caps": {"daily": {"max": 1, "per": "1d"}}}')"#
        )
        let clock = { (hours: Int) in
            try world.connection.text(
                "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '\(hours) h', 'HH24:MI')"
            ) ?? ""
        }
        let quiet = #""from": "\#(try clock(-2))", "until": "\#(try clock(2))""#
        try world.rule("plain", event: "plain", to: users())
        try world.rule("when", event: "when", to: users(), #""when": "$.total > 100 && $.status == \"paid\"""#)
        try world.rule("news", event: "news", to: #"{"topic": "news"}"#)
        try world.rule("offer", event: "offer", to: users(), #""category": "offers""#)
        try world.rule("cap", event: "cap", to: users(), #""caps": ["daily"]"#)
        try world.rule("hold", event: "hold", to: users(), #""quiet_hours": {\#(quiet), "mode": "hold"}"#)
        try world.rule("drop", event: "drop", to: users(), #""quiet_hours": {\#(quiet), "mode": "drop"}"#)
        try world.connection.execute(
            #"SELECT fanfare.put_rule('{"app": "shop", "name": "bad", "event": "bad", "to": {"users": "$.u"}, "message": {"notification": {"title": "{{#a}}"}}}')"#
        )
        for (token, user) in [
            ("a1a1", "ann"), ("b1b1", "out"), ("b2b2", "snoozer"), ("b3b3", "off"), ("e41011", "lost"),
            ("e40311", "wrong"),
        ] {
            try world.device(token, user: user, "time_zone => 'UTC'")
        }
        try world.connection.execute(
            """
            SELECT fanfare.unregister_device('shop', 'apns', 'b3b3'), fanfare.set_preference('shop', 'out', 'offers', true),
                fanfare.snooze('shop', 'snoozer', now() + interval '1 day')
            """
        )
    }

    @Test func eachCauseIsSaidInOneLineWithWhatToDo() async throws {
        try await Flow.run { flow in
            try await flow.sql(Self.furnish)
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.rule_versions WHERE state = 'unchecked')")
            let events = try await flow.sql { world in
                var events: [String: (event: Int64, user: String)] = [:]
                func emit(_ type: String, _ user: String, as name: String? = nil, _ more: String = "") throws {
                    events[name ?? type] = (try world.emit(type, #"{"u": "\#(user)"\#(more)}"#), user)
                }
                try emit("plain", "ann", as: "accepted")
                try emit("plain", "bob", as: "no device")
                try emit("plain", "off", as: "disabled")
                try emit("plain", "lost", as: "gone")
                try emit("plain", "wrong", as: "rejected")
                try emit("news", "ann", as: "not subscribed")
                try emit("when", "ann", as: "when", #", "total": 7, "status": "paid""#)
                try emit("offer", "out")
                try emit("offer", "snoozer", as: "snoozed")
                try emit("cap", "ann", as: "granted")
                try emit("hold", "ann")
                try emit("drop", "ann")
                try emit("bad", "ann")
                try emit("typo", "ann")
                events["expired"] = (try world.emit("plain", #"{"u": "ann"}"#, ttl: "0 s"), "ann")
                try world.connection.execute("BEGIN")
                try emit("plain", "ann", as: "cancelled")
                try world.connection.execute("SELECT fanfare.cancel(\(events["cancelled"]?.event ?? 0)); COMMIT")
                return events
            }
            try await flow.untilIdle()
            let capped = try await flow.sql { try $0.emit("cap", #"{"u": "ann"}"#) }
            try await flow.until("SELECT count(*) = 17 FROM fanfare.event_log")
            try await flow.untilIdle()
            let said = try await flow.sql { world in
                try events.merging(["capped": (capped, "ann")]) { $1 }.mapValues {
                    try Self.line(world, $0.event, $0.user)
                }
            }
            for (name, text) in Self.expected {
                let line = said[name] ?? "nothing"
                #expect(line.hasPrefix(text.begins) && line.contains(text.holds), "\(name): \(line)")
            }
            #expect(said.count == Self.expected.count)
            try await checkSteps(events, flow)
        }
    }

    /// The expected line by the event's name in the test: its start, and a text that it contains.
    private static let expected: [String: (begins: String, holds: String)] = [
        "accepted": ("accepted | accepted | The provider accepted the push", "focus or power saving"),
        "granted": ("accepted | accepted | ", "The provider accepted the push"),
        "no device": ("no_device | no_device | bob has no device in app shop", "fanfare.register_device"),
        "disabled": ("not_reached | disabled | The device is disabled since ", "unregistered. The app must register"),
        "gone": ("gone | Unregistered | The app was removed from the device", "register its new token"),
        "rejected": (
            "rejected | DeviceTokenNotForTopic | The token belongs to another app than the topic.",
            "fix what the provider names"
        ),
        "not subscribed": (
            "not_reached | not_subscribed | Not subscribed to news; its topics now: none.", "fanfare.subscribe"
        ),
        "when": (
            "not_matched | when_false | `when` did not match: $.total > 100 is false; $.status == \"paid\" is true.",
            "replay"
        ),
        "offer": ("opted_out | user_opted_out | ", "Category offers. Only the user should change that"),
        "snoozed": ("opted_out | user_snoozed | ", "Category offers. It ends by itself"),
        "capped": ("capped | frequency_cap | ", "Caps of the rule: daily, 1 in 1 day. Wait, raise the cap"),
        "hold": ("waiting | quiet_hours | Quiet hours of the recipient; held until they end", ""),
        "drop": ("quiet | quiet_hours | ", "by the rule, clock of the device: UTC. Use mode hold"),
        "bad": (
            "not_matched | rule_refused | The rule was rejected and matches nothing: ", "Fix the rule, then replay"
        ),
        "typo": ("not_matched | no_rule | No rule matches event type \"typo\".", "fix the type"),
        "expired": ("expired | ttl_passed | Its ttl had passed when the event was planned", "a longer ttl"),
        "cancelled": (
            "cancelled | cancel_requested | Cancelled before it was planned: fanfare.cancel was called ",
            "Replay the event"
        ),
    ]

    /// Checks the delivery's steps, in order, and the user's last events.
    private func checkSteps(
        _ events: [String: (event: Int64, user: String)],
        _ flow: Flow
    ) async throws {
        let held = try #require(events["hold"]?.event)
        let steps = """
            SELECT concat_ws(' ', rule, attempt, outcome, reason, CASE WHEN until > now() + interval '1 h' THEN 'until then' END)
            FROM fanfare.why(\(held), 'ann')
            """
        #expect(
            try await flow.sql { try $0.connection.column(steps) } == [
                "planned planned", "shop/hold matched users", "shop/hold 1 retrying quiet_hours until then",
                "shop/hold 2 waiting quiet_hours until then",
            ]
        )
        let recent = try await flow.sql { try $0.connection.column("SELECT fanfare.recent_events('ann')") }
        let all = events.values.map(\.event).filter { id in
            events.values.contains { $0.event == id && $0.user == "ann" }
        }
        #expect(Set(recent.compactMap { Int64($0) }).isSuperset(of: all), "also those that nobody was planned for")
        #expect(recent == recent.sorted { Int64($0) ?? 0 > Int64($1) ?? 0 })
        let foreign = try await flow.sql { try $0.connection.column("SELECT fanfare.recent_events('bob', 'shop')") }
        #expect(foreign == ["\(events["no device"]?.event ?? 0)"])
        // The event is cancelled while it waits.
        let cancelled = try await flow.sql { world in
            try world.connection.execute("SELECT fanfare.cancel(\(held))")
            return try Self.line(world, held, "ann")
        }
        #expect(cancelled.hasPrefix("cancelled | cancel_requested | fanfare.cancel was called "))
    }
}
