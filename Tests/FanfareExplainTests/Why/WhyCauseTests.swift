import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareExplain
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// Each cause of a missing push is reported with its outcome, its reason and a helpful text, for one event and in the
/// list.
@Suite(.database)
struct WhyCauseTests {
    /// A cause, and the expected report.
    struct Cause: Sendable, CustomTestStringConvertible {
        let name: String
        let outcome: String
        let reason: String
        let words: [String]
        /// The report of a running daemon; nil for no daemon.
        var report: String? = "{}"
        var user = "ann"
        /// Creates the situation, and returns the event.
        let play: @Sendable (World) throws -> Int64

        var testDescription: String { name }
    }

    private static let users = #"{"users": "$.new.user"}"#

    private static func planned(_ world: World, _ type: String, _ payload: String, ttl: String? = nil) throws -> Int64 {
        let event = try world.emit(type, payload, ttl: ttl)
        try world.plan()
        return event
    }

    /// Emits an event for ann whose push is waiting.
    @Sendable private static func waiting(_ world: World) throws -> Int64 {
        try world.device("aa01", user: "ann")
        try world.rule("r", event: "e", to: users)
        return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
    }

    /// Emits an event of a conversation that ann has muted, or that she joined later with a device.
    private static func conversation(_ world: World) throws -> Int64 {
        try world.connection.execute(
            "CREATE TABLE public.members (id text); INSERT INTO public.members VALUES ('bob'); GRANT SELECT ON public.members TO fanfare_sql"
        )
        try world.rule("chat", event: "chat", to: #"{"users_sql": "SELECT id FROM public.members"}"#)
        let event = try planned(world, "chat", #"{"conversation": 7}"#)
        let runner = world.queryRunner()
        while try runner.takeTurn(on: world.connection) {}
        return event
    }

    /// Puts a rule into force whose quiet hours started now and last four hours.
    private static func night(_ world: World, _ more: String = "") throws {
        let clock = { (hours: Int) in
            try world.connection.text("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '\(hours) h', 'HH24:MI')")
                ?? ""
        }
        let quiet = #""quiet_hours": {"from": "\#(try clock(-2))", "until": "\#(try clock(2))"}"#
        try world.device("aa01", user: "ann", "time_zone => 'UTC'")
        try world.rule("night", event: "night", to: users, quiet + more)
    }

    /// Emits an event for ann whose claim finds quiet hours.
    private static func evening(_ world: World) throws -> Int64 {
        let event = try planned(world, "night", #"{"new": {"user": "ann"}}"#)
        for one in try world.prepare(try world.claim()) { world.record([.opened(one.batch, decided: one.decided)]) }
        return event
    }

    static let causes = [
        Cause(
            name: "a mistyped key",
            outcome: "not_matched",
            reason: "when_false",
            words: ["new.payment_staus is not there; did you mean new.payment_status?"]
        ) { world in
            try world.device("aa01", user: "ann")
            try world.rule("far", event: "pay", to: users, #""when": "$.new.amount > 5 && $.new.country == \"ES\"""#)
            try world.rule("3ds", event: "pay", to: users, #""when": "$.new.payment_status == \"3ds\"""#)
            try world.rule("refund", event: "pay", to: users, #""when": "$.new.payment_staus == \"refunded\"""#)
            return try planned(world, "pay", #"{"new": {"user": "ann", "payment_status": "refunded", "amount": 1}}"#)
        },
        Cause(
            name: "a device in another app",
            outcome: "no_device",
            reason: "no_device",
            words: ["ann has no device in app shop", "1 device in app shpo, for which no daemon has credentials"],
            report: #"{"unserved": ["shpo/apns"]}"#
        ) { world in
            try world.connection.execute("SELECT fanfare.register_device('shpo', 'apns', 'aa01', 'ann')")
            try world.rule("r", event: "e", to: users)
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a permission that the rule is not for",
            outcome: "not_reached",
            reason: "other_permission",
            words: ["Its permission is denied, the rule is for authorized, provisional"]
        ) { world in
            try world.device("aa01", user: "ann", "permission => 'denied', presents => '{}'")
            let filter = #", "permission": ["authorized", "provisional"], "presents": "alert""#
            try world.rule("r", event: "e", to: #"{"users": "$.new.user"\#(filter)}"#)
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a permission that was never said",
            outcome: "not_reached",
            reason: "other_permission",
            words: ["It said no permission, the rule is for authorized. The app must pass its permission"]
        ) { world in
            try world.device("aa01", user: "ann")
            try world.rule("r", event: "e", to: #"{"users": "$.new.user", "permission": "authorized"}"#)
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a device that presents something else",
            outcome: "not_reached",
            reason: "other_presents",
            words: ["It presents badge, the rule needs alert, sound"]
        ) { world in
            try world.device("aa01", user: "ann", "permission => 'authorized', presents => '{badge}'")
            try world.rule("r", event: "e", to: #"{"users": "$.new.user", "presents": ["alert", "sound"]}"#)
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a device that did not say what it presents",
            outcome: "not_reached",
            reason: "other_presents",
            words: ["It did not say what it presents, the rule needs alert"]
        ) { world in
            try world.device("aa01", user: "ann", "permission => 'authorized'")
            try world.rule("r", event: "e", to: #"{"users": "$.new.user", "presents": "alert"}"#)
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a query did not name the user",
            outcome: "not_reached",
            reason: "not_in_audience",
            words: ["users_sql did not name ann"]
        ) { world in
            try world.device("aa01", user: "ann")
            return try conversation(world)
        },
        Cause(
            name: "a query was asked before there was a device",
            outcome: "not_reached",
            reason: "registered_later",
            words: ["or its query did not return ann: its result is not stored"]
        ) { world in
            let event = try conversation(world)
            try world.device("aa01", user: "ann")
            return event
        },
        Cause(
            name: "a query that failed",
            outcome: "refused",
            reason: "not_plannable",
            words: ["could not be planned for it: rule bad: ", "division by zero"]
        ) { world in
            try world.device("aa01", user: "ann")
            try world.rule("bad", event: "bad", to: #"{"users_sql": "SELECT (1 / ($1->>'n')::int)::text"}"#)
            let event = try planned(world, "bad", #"{"n": 0}"#)
            let runner = world.queryRunner()
            for _ in 0...QueryRunner.pauses.count {
                while try runner.takeTurn(on: world.connection) {}
                try world.connection.execute("UPDATE fanfare.audience_queries SET not_before = now()")
            }
            return event
        },
        Cause(
            name: "a query did not name the user, whose device was registered again",
            outcome: "not_reached",
            reason: "not_in_audience",
            words: ["users_sql did not name ann"]
        ) { world in
            try world.device("aa01", user: "ann")
            let event = try conversation(world)
            for _ in 0..<6 { try world.device("aa01", user: "ann") }
            return event
        },
        Cause(
            name: "a query did not name the user, whose device was disabled later",
            outcome: "not_reached",
            reason: "not_in_audience",
            words: ["users_sql did not name ann"]
        ) { world in
            try world.device("aa01", user: "ann")
            let event = try conversation(world)
            try world.connection.execute(
                "UPDATE fanfare.devices SET disabled_at = clock_timestamp(), disabled_reason = 'Unregistered'"
            )
            return event
        },
        Cause(
            name: "a query was asked while the device was disabled",
            outcome: "not_reached",
            reason: "registered_later",
            words: ["it was not there yet, or disabled"]
        ) { world in
            try world.device("aa01", user: "ann")
            try world.connection.execute("SELECT fanfare.unregister_device('shop', id) FROM fanfare.devices")
            let event = try conversation(world)
            try world.device("aa01", user: "ann")
            return event
        },
        Cause(
            name: "a night longer than the ttl",
            outcome: "expired",
            reason: "quiet_hours",
            words: ["The quiet hours there end ", ":00 UTC, its ttl ended ", " (00:30:00 after it was emitted)"]
        ) { world in
            try night(world, #", "ttl": "30m""#)
            return try evening(world)
        },
        Cause(
            name: "a night",
            outcome: "waiting",
            reason: "quiet_hours",
            words: ["held until they end"]
        ) { world in
            try night(world)
            return try evening(world)
        },
        Cause(
            name: "the second push to a token that is gone",
            outcome: "not_reached",
            reason: "disabled",
            words: ["The device is disabled since ", "Unregistered"]
        ) { world in
            _ = try waiting(world)
            try world.connection.execute(
                "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered'"
            )
            return try planned(world, "e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "a provider that cannot be reached",
            outcome: "waiting",
            reason: "breaker",
            words: ["apns is unreachable or failing: Connection refused, so only probes are sent"],
            report: """
                {"breakers": {"shop/apns/production": "open"}, "failures": {"shop/apns/production": "Connection refused"}}
                """
        ) { world in
            let event = try waiting(world)
            _ = try world.claim()
            return event
        },
        Cause(
            name: "a provider that refuses the sender",
            outcome: "waiting",
            reason: "breaker",
            words: ["apns rejects this sender: InvalidProviderToken"],
            report: """
                {"breakers": {"shop/apns/production": "open"}, "refusals": {"shop/apns/production": "InvalidProviderToken"}}
                """,
            play: waiting
        ),
        Cause(
            name: "no rule for a mistyped type",
            outcome: "not_matched",
            reason: "no_rule",
            words: ["No rule matches event type \"flash.ofer\". Did you mean flash.offer?"]
        ) { world in
            try world.device("aa01", user: "ann")
            try world.rule("offer", event: "flash.offer", to: users)
            return try planned(world, "flash.ofer", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "no daemon, not planned",
            outcome: "waiting",
            reason: "no_daemon",
            words: ["no daemon is running. Start `fanfare serve`"],
            report: nil
        ) { world in
            try world.device("aa01", user: "ann")
            try world.rule("r", event: "e", to: users)
            return try world.emit("e", #"{"new": {"user": "ann"}}"#)
        },
        Cause(
            name: "no credentials",
            outcome: "waiting",
            reason: "no_credentials",
            words: ["No running daemon has credentials for apns in app shop"],
            report: #"{"unserved": ["shop/apns"]}"#,
            play: waiting
        ),
        Cause(
            name: "a digest",
            outcome: "matched",
            reason: "gather",
            words: ["UTC is an event of its own, of type digest.shop.news"]
        ) { world in
            try world.device("aa01", user: "ann")
            let digest = #""digest": {"every": "10m", "by": "{{new.user}}"}"#
            try world.rule("news", event: "news", to: users, digest)
            return try planned(world, "news", #"{"new": {"user": "ann"}}"#)
        },
    ]

    /// Simulates a running daemon with this report.
    private static func run(_ report: String?, on world: World) throws {
        guard let report else { return }
        _ = try world.connection.query(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version, report)
            VALUES ('d', 'h', 1, 'v', now() + interval '1 h', 1, $1::jsonb)
            """,
            report
        )
    }

    @Test(arguments: causes)
    func aCauseIsTold(_ cause: Cause) async throws {
        let world = try World()
        let event = try cause.play(world)
        try Self.run(cause.report, on: world)
        let said = try world.connection.query(
            "SELECT outcome, reason, detail, event_type IS NOT NULL FROM fanfare.why_verdict($1, $2)",
            String(event),
            cause.user
        ).rows[0].map { $0 ?? "" }
        #expect(said[0] == cause.outcome && said[1] == cause.reason && said[3] == "t", "\(said)")
        for words in cause.words { #expect(said[2].contains(words), "\(said[2])") }
        let database = try toolDatabase()
        let report = try await database.why(eventID: event, user: cause.user, app: nil)
        #expect(report.verdict.reason == cause.reason && report.text.contains(cause.words[0]), "\(report.text)")
        let recent = try await database.why(user: cause.user, app: nil)
        let listed = recent.first { $0.eventID == event }
        #expect(listed?.outcome == cause.outcome && listed?.reason == cause.reason, "\(WhyVerdict.text(recent))")
        #expect(listed?.detail == said[2])
        await database.close()
    }

    @Test func whatIsHeldByTheNightOrADigestSaysUntilWhen() throws {
        for name in ["a night", "a digest"] {
            let world = try World()
            let cause = try #require(Self.causes.first { $0.name == name })
            let event = try cause.play(world)
            let until = "SELECT until > now() FROM fanfare.why_verdict($1, 'ann')"
            #expect(try world.connection.text(until, String(event)) == "t", "\(name)")
        }
    }

    /// A user who was not in an event's audience is told so, even if the device was registered later.
    @Test func whoWasNotMeantIsToldSoFirst() throws {
        let world = try World()
        _ = try Self.waiting(world)
        let event = try Self.planned(world, "e", #"{"new": {"user": "bob", "order": 5}}"#)
        try world.device("bb01", user: "5")
        try world.device("aa01", user: "ann")
        let why = "SELECT outcome || ' ' || reason FROM fanfare.why_verdict($1, $2)"
        for user in ["ann", "5"] {
            #expect(try world.connection.text(why, String(event), user) == "not_reached not_in_audience")
        }
        #expect(try world.connection.text(why, String(event), "bob") == "no_device no_device")
        #expect(try world.connection.column("SELECT coalesce(event_id, 0) FROM fanfare.why_recent('5')") == ["0"])
        let unknown = "SELECT detail FROM fanfare.why_verdict($1, 'zoe')"
        #expect(try world.connection.text(unknown, String(event))?.contains("zoe has no device in app shop") == true)
    }

    @Test func numbersAreUsersWhereARuleLooksForThem() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.user"}"#)
        let own = try Self.planned(world, "e", #"{"user": 5, "order": 9}"#)
        _ = try Self.planned(world, "e", #"{"user": 9, "order": 5}"#)
        #expect(try world.connection.column("SELECT event_id FROM fanfare.why_recent('5')") == ["\(own)"])
    }

    @Test func whoeverIsNotThereIsToldSo() async throws {
        let world = try World()
        try world.device("aa01", user: "ann")
        let database = try toolDatabase()
        let nobody = try await database.why(user: "nobody", app: nil)
        #expect(nobody.count == 1 && nobody[0].eventID == nil && nobody[0].reason == "no_user" && nobody[0].isAbsence)
        #expect(WhyVerdict.text(nobody).contains("No device is registered with the user id nobody"))
        let ann = try await database.why(user: "ann", app: "shop")
        #expect(
            ann.count == 1 && ann[0].reason == "no_event"
                && ann[0].detail?.contains("who has 1 device, 1 enabled") == true
        )
        for event in [Int64(1234), -5, .max, 0] {
            let report = try await database.why(eventID: event, user: "ann", app: nil)
            #expect(report.verdict.isAbsence && report.text.contains("There is no event \(event)"), "\(report.text)")
        }
        await database.close()
    }

    /// Before the first rule is stored, and for a user whose device is disabled.
    @Test func withoutRulesNothingIsGuessed() throws {
        let world = try World()
        try world.device("aa01", user: "ann")
        let event = try world.emit("flash.ofer")
        for _ in 0..<2 {
            let list = try world.connection.column("SELECT reason FROM fanfare.why(NULL, 'ann')")
            #expect(list == ["no_event"])
            let one = try world.connection.column("SELECT detail FROM fanfare.why($1::bigint, 'ann')", "\(event)")
            #expect(one.contains("No rule matches event type \"flash.ofer\". Write a rule, or fix the type"))
            try world.connection.execute("SELECT fanfare.unregister_device('shop', id) FROM fanfare.devices")
        }
    }

    @Test func anAbortedCampaignIsSaidAsThat() throws {
        let world = try World()
        try world.device("aa01", user: "ann")
        try world.put(campaign: "sale", #""lane": "bulk""#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        let gate = Int32(try world.connection.number("SELECT gate_id FROM fanfare.runs"))
        _ = try world.connection.query("SELECT fanfare.abort_campaign('shop', 'sale')")
        try world.sweep(gate)
        let detail = try world.connection.text(
            "SELECT v.detail FROM fanfare.runs AS o, fanfare.why_verdict(o.event_id, 'ann') AS v"
        )
        #expect(
            detail?.contains("Its campaign was aborted before it was sent.") == true
                && detail?.contains("was called .") == false
        )
    }

    /// Of very many devices only some are listed, and the output says so.
    @Test func ofManyDevicesTheLastAreToldOf() throws {
        let world = try World()
        try world.rule("r", event: "e", to: Self.users)
        try world.devices(300, user: "ann")
        let event = try Self.planned(world, "e", #"{"new": {"user": "ann"}}"#)
        let rows = "SELECT count(device_id) FROM fanfare.why($1::bigint, 'ann')"
        #expect(try world.connection.number(rows, String(event)) == 200)
        let said = "SELECT detail FROM fanfare.why($1::bigint, 'ann') WHERE outcome = 'matched'"
        #expect(
            try world.connection.text(said, String(event))?.contains("300 devices in the app 200 are told of") == true
        )
    }

    @Test(arguments: [
        ("flash.ofer", "flash.offer"), ("Flash.Offer2", "flash.offer"), ("flahs.offer", "flash.offer"), ("order", ""),
        ("flash.offer", ""), ("", ""),
    ])
    func aNameThatIsNearIsFound(name: String, near: String) throws {
        let world = try World()
        let found = "SELECT coalesce(fanfare.nearest_name($1, '{flash.offer,payment,news}'), '')"
        #expect(try world.connection.text(found, name) == near)
    }
}
