import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// Digests: one push for many events.
@Suite(.database)
struct OpenDigestTests {
    private static let users = #"{"users": "$.u"}"#
    private static let digest = #""digest": {"every": "10m", "by": "{{u}}"}"#
    private static let numbers =
        "payload ->> 'count' || ': ' || (SELECT string_agg(e ->> 'n', ',') FROM jsonb_array_elements(payload -> 'events') AS e)"

    /// Emits the given number of events for each of some users, all with different numbers.
    private func emit(_ count: Int, users: Int, on world: World) throws {
        _ = try world.connection.query(
            "SELECT count(fanfare.emit('e', jsonb_build_object('u', (n % $2::int)::text, 'n', n))) FROM generate_series(1, $1::int) AS n",
            String(count),
            String(users)
        )
    }

    /// Two sessions put versions into force at the same time; only one version may stay in force.
    @Test func twoWhoPutVersionsIntoForceLeaveOne() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users)
        let rule =
            #"{"app": "shop", "name": "news", "event": "e", "to": \#(Self.users), \#(Self.digest), "message": {"data": {"n": "1"}}}"#
        func put(_ number: Int) throws -> CompiledRule {
            let text = rule.replacing(#""1""#, with: "\"\(number)\"")
            _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", text)
            return try CompiledRule(json: JSONValue(parsing: text))
        }
        let second = try put(2)
        let id = Int32(try world.connection.number("SELECT max(id) FROM fanfare.rule_versions"))
        let other = try World()
        let columns = try RuleChecker.columns(of: second, on: other.connection).get()
        try other.connection.execute("BEGIN")
        try other.connection.run(SQL.lockActivation())
        _ = try other.connection.runReturningCount(ActivateRules(rules: [ActivatedRule(id: id, columns: columns)]))
        _ = try put(3)
        let waiting = WorkerThread.start(name: "checker") { [database = TestDatabase.current] in
            try? World(database).judge()
        }
        try world.connection.waitUntil(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 6 AND NOT granted)"
        )
        try other.connection.execute("COMMIT")
        waiting.join()
        let inForce = """
            SELECT r.name || ' ' || v.version FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE v.state = 'active' AND v.retired_at IS NULL ORDER BY 1
            """
        #expect(try world.connection.column(inForce) == ["gather/news 3", "news 3"])
        // A version that was retired in the meantime does not interfere.
        let event = try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        let reasons = "SELECT reason FROM fanfare.why($1::bigint, 'ann') WHERE rule IS NOT NULL"
        #expect(try world.connection.column(reasons, String(event)) == ["gather"])
    }

    @Test func whatIsGatheredLeavesAsOnePush() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        let message =
            #""message": {"notification": {"title": "{{count}} new", "body": "{{#events}}{{n}} {{/events}}"}}"#
        try world.rule("news", event: "e", to: Self.users, "\(Self.digest), \"when\": \"$.n > 0\", \(message)")
        let first = try world.emit("e", #"{"u": "ann", "n": 1}"#)
        try world.emit("e", #"{"u": "bob", "n": 2}"#)
        #expect(try world.fate(try world.emit("e", #"{"u": "ann", "n": 0}"#)) == "waiting")
        try world.plan()
        let last = try world.emit("e", #"{"u": "ann", "n": 3, "count": "mine"}"#)
        try world.plan()
        #expect(try [first, last].map { try world.fate($0) } == ["planned", "planned"])
        #expect(
            try world.connection.column("SELECT fate FROM fanfare.events WHERE payload ->> 'n' = '0'") == ["unmatched"]
        )
        let why = "SELECT rule || ' ' || reason FROM fanfare.why($1::bigint, 'ann') WHERE rule IS NOT NULL"
        #expect(try world.connection.column(why, String(first)) == ["shop/news gather"])
        let verdict = "SELECT outcome || ' ' || detail FROM fanfare.why_verdict($1::bigint, 'ann')"
        #expect(try world.connection.text(verdict, String(first))?.contains("of type digest.shop.news") == true)
        try world.emitDigests(at: "now() + interval '9 min'")
        #expect(try world.claim().isEmpty && world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
        try world.emitDigests(at: "now() + interval '10 min'")
        try world.plan()
        #expect(try world.digests("news", Self.numbers) == ["2: 1,3", "1: 2"])
        #expect(try world.digests("news", "payload ->> 'since' ~ '^20.*\\+00:00$'") == ["t", "t"])
        #expect(try world.digests("news", "fate") == ["planned", "planned"])
        let bodies = try world.prepare(try world.claim()).flatMap(\.batch.variants).map {
            String(decoding: $0.content.body.prefix, as: UTF8.self)
        }
        #expect(bodies.count == 1 && bodies[0].contains("2 new") && bodies[0].contains("1 3 "))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.open_digests") == 0)
    }

    @Test func eachEventIsInExactlyOneDigest() throws {
        let world = try World()
        let (events, users) = (Soak.choose(1000, soak: 10_000), Soak.choose(200, soak: 2000))
        try world.rule("news", event: "e", to: Self.users, Self.digest)
        try emit(events, users: users, on: world)
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.open_digests") == Int64(users))
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("news", "payload ->> 'count'").count == users)
        let numbers =
            "SELECT (e ->> 'n')::int FROM fanfare.events, jsonb_array_elements(payload -> 'events') AS e WHERE type LIKE 'digest.%' ORDER BY 1"
        #expect(try world.connection.column(numbers) == (1...events).map(String.init))
    }

    @Test func aKeyThatAllEventsHaveIsOneSmallRow() throws {
        let world = try World()
        let events = Soak.choose(3000, soak: 100_000)
        try world.rule("hot", event: "e", to: #"{"topic": "all"}"#, #""debounce": {"wait": "1m", "by": "all"}"#)
        try emit(events, users: 7, on: world)
        try world.plan()
        let row = try world.connection.query(
            "SELECT count, cardinality(event_ids), pg_column_size(g.*) < 2000 FROM fanfare.open_digests AS g"
        )
        #expect(row.rows == [["\(events)", "100", "t"]])
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("hot", "payload ->> 'count'") == ["\(events)"])
        let named = try world.digests(
            "hot",
            "(SELECT string_agg(e ->> 'n', ',') FROM jsonb_array_elements(payload -> 'events') AS e)"
        )
        #expect(
            named == [(events - 99...events).map(String.init).joined(separator: ",")],
            "the newest, the oldest of them first"
        )
    }

    /// Events beyond the size limit are left out, starting with the oldest; so are events nested too deeply.
    @Test func aDigestFitsIntoAnEvent() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users, Self.digest)
        let large = String(repeating: "x", count: 14_000)
        for n in 1...6 { try world.emit("e", #"{"u": "ann", "n": \#(n), "x": "\#(large)"}"#) }
        let deep = String(repeating: #"{"a": "#, count: 30) + "1" + String(repeating: "}", count: 30)
        try world.emit("e", #"{"u": "bob", "n": 1, "x": \#(deep)}"#)
        try world.emit("e", #"{"u": "bob", "n": 2}"#)
        try world.emit("e", #"{"u": "cat", "n": 1, "x": "\#(String(repeating: "y", count: 40_000))"}"#)
        try world.plan()
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("news", "fate") == ["planned", "planned", "planned"])
        #expect(try world.digests("news", "coalesce(\(Self.numbers), payload ->> 'n')") == ["6: 4,5,6", "2: 2", "1"])
    }

    @Test func debounceWaitsForThePauseAndNotForEver() throws {
        let world = try World()
        let pace = DigestDefinition.Pace.debounce(wait: TimeSpan(seconds: 30), longest: TimeSpan(seconds: 100))
        func gather(at seconds: Int64, _ key: String = "k") throws -> Int64 {
            let event = GatheredEvent(eventID: seconds + 1, ruleID: 1, key: key, pace: pace)
            let now = Timestamp(microseconds: seconds * 1_000_000)
            _ = try world.connection.runReturningCount(GatherEvents([event, event], now: now))
            let due = try world.connection.number(
                "SELECT extract(epoch FROM due_at)::int FROM fanfare.open_digests WHERE key = $1",
                key
            )
            return due
        }
        #expect(try gather(at: 0) == 30)
        #expect(try gather(at: 20) == 50)
        #expect(try gather(at: 10) == 50, "a clock that went back brings nothing forward")
        #expect(try gather(at: 49) == 79)
        #expect(try gather(at: 78) == 100, "but at most so long after the first")
        #expect(try gather(at: 99) == 100)
        #expect(try gather(at: 40, "other") == 70)
        #expect(try world.connection.run(SQL.nextOpenDigest()).map(\.microseconds) == [70_000_000])
        #expect(try world.connection.column("SELECT count FROM fanfare.open_digests ORDER BY key") == ["12", "2"])
        #expect(
            try world.connection.column(
                "SELECT array_to_string(event_ids[1:4], ',') FROM fanfare.open_digests WHERE key = 'k'"
            ) == ["100,100,79,79"]
        )
    }

    @Test func whatIsCancelledIsNotNamed() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users, Self.digest)
        let events = try (1...3).map { try world.emit("e", #"{"u": "ann", "n": \#($0)}"#, key: "k\($0)") }
        try world.emit("e", #"{"u": "bob", "n": 4}"#, key: "k4")
        try world.plan()
        #expect(try world.connection.text("SELECT fanfare.cancel(\(events[2]))") == "t")
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k1')") == "t")
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k4')") == "t")
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("news", Self.numbers) == ["3: 2"], "and whose events all are gets nothing")
        #expect(try world.digests("news", "payload ->> 'n'") == ["2"])
        #expect(try world.connection.text("SELECT fanfare.cancel(\(events[1]))") == "f", "it has left")
    }

    @Test func anEventWithoutAKeyIsRefused() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users, Self.digest)
        let events = try [#"{"n": 1}"#, #"{"u": ""}"#, #"{"u": "ann"}"#].map { try world.emit("e", $0) }
        try world.plan()
        #expect(try events.map { try world.fate($0) } == ["refused", "refused", "planned"])
        #expect(try world.detail(events[0]) == "rule news: 'u' is missing or null")
        #expect(try world.detail(events[1]) == "rule news: by gives a text of 0 bytes, 1 to 2048 are allowed")
    }
}

/// The visible rule, and the internal one that collects for it.
@Suite(.database)
struct DigestRuleTests {
    private static let users = #"{"users": "$.u"}"#
    private static func digest(by: String) -> String { #""digest": {"every": "10m", "by": "\#(by)"}"# }

    private func inForce(_ world: World) throws -> [String] {
        try world.connection.column(
            """
            SELECT r.name || ' ' || v.version || ' ' || v.event_type || ' ' || v.audience
            FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE v.state = 'active' AND v.retired_at IS NULL AND r.dropped_at IS NULL ORDER BY r.name, v.version
            """
        )
    }

    @Test func aVersionTakesThePlaceOfBoth() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users, Self.digest(by: "{{u}}"))
        let both = ["gather/news 1 e gather", "news 1 digest.shop.news users"]
        #expect(try inForce(world) == both)
        try world.emit("e", #"{"u": "ann", "n": 1}"#)
        try world.plan()
        try world.rule("news", event: "f", to: Self.users, Self.digest(by: "all"))
        #expect(try inForce(world) == ["gather/news 2 f gather", "news 2 digest.shop.news users"])
        for type in ["e", "f"] { try world.emit(type, #"{"u": "ann", "n": 2}"#) }
        try world.plan()
        #expect(try world.connection.column("SELECT key FROM fanfare.open_digests ORDER BY key") == ["all", "ann"])
        // Events that an older version collected are emitted by the newer one.
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("news", "fate") == ["planned", "planned"])
        try world.rule("news", event: "e", to: Self.users)
        #expect(try inForce(world) == ["news 3 e users"])
        try world.rule("news", event: "e", to: Self.users, Self.digest(by: "{{u}}"))
        #expect(try inForce(world) == ["gather/news 4 e gather", "news 4 digest.shop.news users"])
    }

    @Test func whatADroppedRuleGatheredIsLeftOut() throws {
        let world = try World()
        try world.rule("news", event: "e", to: Self.users, Self.digest(by: "{{u}}"))
        try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        #expect(try world.connection.text("SELECT fanfare.drop_rule('shop', 'gather/news')") == "f", "it is nobody's")
        #expect(try world.connection.text("SELECT fanfare.drop_rule('shop', 'news')") == "t")
        #expect(try inForce(world).isEmpty)
        try world.rule("news", event: "e", to: Self.users, Self.digest(by: "{{u}}"))
        try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.open_digests") == 2)
        try world.emitDigests()
        try world.plan()
        #expect(try world.digests("news", "payload ->> 'count'") == ["1"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.open_digests") == 0)
    }

    @Test func toolsShowOneRule() async throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        let message = #""message": {"notification": {"title": "{{count}}: {{#events}}{{n}}{{/events}}"}}"#
        try world.rule(
            "news",
            event: "e",
            to: Self.users,
            Self.digest(by: "{{u}}") + ", \"when\": \"$.n == 7\", " + message
        )
        let tools = try toolDatabase()
        let rows = try await tools.stored(RuleSet.self, app: "shop")
        #expect(rows.map(\.name) == ["news"] && rows.map(\.event) == ["e"] && rows.map(\.versionInForce) == [1])
        let set = try await tools.ruleSet(app: nil).only(rule: nil, app: "shop", type: "e")
        let example = ExampleEvent(payload: #"{"u": "ann", "n": 7}"#)
        let explained = try set.explain(example) { _ in nil }
        #expect(explained.first?.body.contains("1: 7") == true)
        let judgement = try #require(try await tools.judge(set, example, try toolConfiguration()).first)
        #expect(judgement.isMatched)
        #expect(judgement.text.contains("combined by 'ann' and sent as one push 10m after the first of them"))
        let other = try await tools.judge(set, ExampleEvent(payload: #"{"u": "ann", "n": 8}"#), try toolConfiguration())
        #expect(other.first?.isMatched == false && other.first?.gathered == nil)
    }
}
