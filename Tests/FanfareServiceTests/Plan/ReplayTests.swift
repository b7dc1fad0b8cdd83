import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The replay of a logged event.
@Suite(.database)
struct ReplayTests {
    private let world: World

    init() throws {
        world = try World()
    }

    @discardableResult
    private func replay(_ event: Int64, to user: String? = nil, app: String? = nil) throws -> Int64 {
        try world.connection.number("SELECT fanfare.replay($1, $2, $3)", String(event), user, app)
    }

    /// Returns the message and the hint of the error for a replay.
    private func refusal(_ event: Int64, to user: String? = nil) -> String {
        let error = #expect(throws: PostgresError.self) { try replay(event, to: user) }
        return [error?.sqlState, error?.message, error?.hint].map { $0 ?? "" }.joined(separator: " | ")
    }

    @Test func theSameEventGoesOutUnderANewIDWhateverItsKey() throws {
        let ann = try world.device("aa01", user: "ann")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let payload = #"{"u": "ann", "n": 1.50, "event": {"replay_of": 7}}"#
        let event = try world.emit("e", payload, key: "k", ttl: "1 h")
        try world.plan()
        let again = try replay(event)
        try world.plan()
        #expect(again > event)
        #expect(try [world.fate(event), world.fate(again)] == ["planned", "planned"])
        #expect(try world.recipients(again) == [ann])
        let rows = try world.connection.query(
            """
            SELECT type, key, ttl::text, payload::text, replay_of::text FROM fanfare.event_log ORDER BY id
            """
        ).rows
        #expect(rows[0].dropLast() == rows[1].dropLast() && rows.map { $0[4] } == [nil, "\(event)"])
        let shown = "SELECT replay_of FROM fanfare.events WHERE id = $1"
        #expect(try world.connection.text(shown, String(again)) == "\(event)")
        #expect(try world.connection.text(shown, String(event)) == nil)
        // The first event keeps the key, and a cancel by key includes replays.
        let third = try world.emit("e", payload, key: "k")
        let fourth = try replay(event)
        try world.connection.execute("SELECT fanfare.cancel('e', 'k')")
        try world.plan()
        #expect(try [world.fate(third), world.fate(fourth)] == ["cancelled", "cancelled"])
        let why = try world.connection.text("SELECT detail FROM fanfare.why(\(again), 'ann') LIMIT 1")
        #expect(why?.hasPrefix("Replay of event \(event). Emitted, and planned ") == true)
    }

    /// Each kind of audience that Fanfare stores; the rule is newer than the event.
    @Test(arguments: [
        (#"{"users": "$.users[*]"}"#, 2), (#"{"topic": "news"}"#, 2), (#"{"topic": "{{topic}}"}"#, 2),
        (#"{"condition": "'news' in topics && !('calm' in topics)"}"#, 1), (#"{"everyone": true}"#, 2),
        (#"{"tokens": "$.tokens[*]", "provider": "apns"}"#, 1),
    ])
    func forOneUserOthersOfTheAudienceGetNothing(to: String, count: Int) throws {
        let devices = try ["aa01", "aa02"].map { try world.device($0, user: "ann") }
        let others = [try world.device("bb01", user: "bob"), try world.device("cc01")]
        try world.connection.execute(
            """
            SELECT fanfare.subscribe('{\((devices + others).map(String.init).joined(separator: ","))}'::bigint[], 'news'),
                fanfare.subscribe(\(devices[1]), 'calm')
            """
        )
        let event = try world.emit("e", #"{"users": ["ann", "bob"], "topic": "news", "tokens": ["aa01", "bb01"]}"#)
        try world.plan()
        #expect(try world.fate(event) == "unmatched")
        try world.rule("r", event: "e", to: to)
        let narrowed = try replay(event, to: "ann")
        let all = try replay(event)
        try world.plan()
        #expect(try world.recipients(narrowed) == Array(devices.prefix(count)))
        #expect(try world.recipients(all).count > count, "it does not narrow what comes with it")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.plans") == 0)
        let other = try world.connection.text(
            "SELECT detail FROM fanfare.why(\(narrowed), 'bob') WHERE reason = 'replayed_for_other'"
        )
        #expect(other == "It was replayed for ann only")
    }

    /// A replay for all supersedes waiting deliveries with its collapse key; a replay for one user does not.
    @Test func forOneUserItTakesNobodyElsesPlace() throws {
        for (token, user) in [("aa01", "ann"), ("bb01", "bob")] {
            let id = try world.device(token, user: user)
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(id))
        }
        try world.rule("r", event: "e", to: #"{"topic": "news"}"#, #""collapse": "x", "supersede": true"#)
        let event = try world.emit("e")
        try world.plan()
        try replay(event, to: "ann")
        try world.plan()
        let prepared = try world.prepare(try world.claim())
        #expect(prepared.flatMap(\.batch.deliveries).count == 3 && prepared.allSatisfy(\.decided.isEmpty))
        try world.connection.execute("UPDATE fanfare.batches SET owner = NULL, lease_token = NULL")
        try replay(event)
        try world.plan()
        let outcomes = try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome)
        #expect(outcomes == [.superseded, .superseded, .superseded])
    }

    @Test func onlyTheRulesOfOneAppTakeIt() throws {
        let device = try world.device("aa01", user: "ann")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        _ = try world.connection.query(
            """
            SELECT fanfare.put_rule('{"app": "other", "name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}}'),
                fanfare.register_device('other', 'apns', 'dd01', 'ann')
            """
        )
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
        let event = try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        let again = try replay(event, app: "shop")
        try world.plan()
        #expect(try world.recipients(event).count == 2)
        #expect(try world.recipients(again) == [device])
    }

    @Test func whatCannotBeReplayedIsRefusedWithTheWayToDoIt() throws {
        try world.device("aa01", user: "ann")
        #expect(
            refusal(1 << 33).hasPrefix(
                "22023 | there is no event 8589934592 in the log: its number is of 2020-01-03 | The log keeps 30 days"
            )
        )
        let waiting = try world.emit("native", #"{"u": "ann"}"#)
        #expect(
            refusal(waiting)
                == "55000 | event \(waiting) is not planned yet | It is sent without that; `fanfare status` shows what daemons do."
        )
        try world.rule("native", event: "native", to: #"{"fcm_topic": "news"}"#)
        try world.plan()
        #expect(refusal(waiting, to: "").hasPrefix("22023 | user_id: names nobody"))
        #expect(
            refusal(waiting, to: "ann").hasPrefix(
                "55000 | rule shop/native sends to an audience that the provider manages (fcm_topic)"
            )
        )
        _ = try replay(waiting)
        try world.rule(
            "gathers",
            event: "many",
            to: #"{"users": "$.u"}"#,
            #""digest": {"every": "10m", "by": "{{u}}"}"#
        )
        let gathered = try world.emit("many", #"{"u": "ann"}"#)
        try world.plan()
        #expect(refusal(gathered, to: "ann").hasPrefix("55000 | rule shop/gathers gathers event \(gathered), which"))
        _ = try replay(gathered)

        try world.connection.execute(
            "CREATE TABLE public.lapsed AS SELECT 'ann' AS user_id; GRANT SELECT ON public.lapsed TO fanfare_sql"
        )
        try world.put(campaign: "sale")
        try world.put(campaign: "lapsed", #""to": {}, "audience_sql": "SELECT user_id FROM public.lapsed""#)
        try world.schedule()
        try world.connection.execute(
            "SELECT fanfare.start_campaign('shop', 'sale'), fanfare.start_campaign('shop', 'lapsed')"
        )
        try world.read()
        try world.plan()
        let events = try world.connection.column("SELECT event_id FROM fanfare.runs ORDER BY id").compactMap {
            Int64($0)
        }
        #expect(events.count == 2)
        #expect(
            refusal(events[0]).hasSuffix(
                "Call fanfare.start_campaign('shop', 'sale') to send it to all again, or name the one user who is to get it."
            )
        )
        #expect(
            refusal(events[1]).hasPrefix(
                "55000 | event \(events[1]) is of campaign lapsed, which goes to its whole audience"
            )
        )
        #expect(
            refusal(events[1], to: "ann").hasSuffix(
                "Call fanfare.test_campaign('shop', 'lapsed', ARRAY['ann']): it asks again, and sends to that user only."
            )
        )
        let again = try replay(events[0], to: "ann")
        try world.plan()
        #expect(try world.recipients(again).count == 1, "a campaign to a topic or everyone can go to one of them")
    }
}

/// Replays through a whole daemon.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ReplayFlowTests {
    @Test func templatesCanTellAndQueriesAreNarrowed() async throws {
        try await Flow.run { flow in
            let event = try await flow.sql { world in
                for (token, user) in [("da01", "ann"), ("da02", "bob")] { try world.device(token, user: user) }
                try world.rule(
                    "asked",
                    event: "e",
                    to: #"{"users_sql": "SELECT jsonb_array_elements_text($1->'users')"}"#,
                    #""message": {"notification": {"title": "{{#event.replay_of}}again {{event.replay_of}}{{/event.replay_of}}{{^event.replay_of}}first{{/event.replay_of}}"}}"#
                )
                return try world.emit("e", #"{"users": ["ann", "bob"]}"#)
            }
            #expect(try await flow.pushes(2, to: "da").count == 2)
            try await flow.untilIdle()
            let again = try await flow.sql { try $0.connection.number("SELECT fanfare.replay(\(event), 'bob')") }
            _ = try await flow.pushes(3, to: "da")
            try await flow.untilIdle()
            let pushes = try await flow.received(by: "da")
            #expect(
                try pushes.map { try $0.json("aps", "alert", "title")?.stringValue } == [
                    "first", "first", "again \(event)",
                ]
            )
            #expect(pushes.last?.token == "da02")
            #expect(try await flow.sql { try $0.recipients(again).count } == 1)
        }
    }
}
