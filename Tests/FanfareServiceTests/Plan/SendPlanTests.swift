import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools

/// How messages without a rule are planned.
@Suite(.database)
struct SendPlanTests {
    let world: World
    let device: Int64

    init() throws {
        world = try World()
        device = try world.device("aa", user: "ada")
    }

    private func send(_ more: String = "", to: String = #"{"users": "ada"}"#, title: String = "T") throws -> Int64 {
        let message = #"{"app": "shop", "to": \#(to), "message": {"notification": {"title": "\#(title)"}}\#(more)}"#
        return try world.connection.number("SELECT fanfare.send($1::jsonb)", message)
    }

    private func judge() throws {
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
    }

    private func planner() throws -> PlannerLoop {
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        return loop
    }

    /// A new shape holds up its own messages only.
    @Test func messagesOfAnUncheckedShapeWaitAndOthersDoNot() throws {
        let known = try send()
        try judge()
        var loop = try planner()
        #expect(try world.recipients(known) == [device])
        let new = try (0..<5).map { try send(#", "lane": "bulk""#, title: "\($0)") }
        let others = try (0..<5).map { try send(title: "\($0)") }
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try Set(new.map(world.fate)) == ["waiting"])
        #expect(try world.detail(new[0]) == "waits for a daemon to check its message")
        #expect(try Set(others.map(world.fate)) == ["planned"])
        try judge()
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        for event in new + others { #expect(try world.recipients(event) == [device]) }
    }

    @Test func eachMessageGoesByItsOwnShape() throws {
        let bob = try world.device("bb", user: "bob")
        let lanes = ["bulk", "normal", "transactional"]
        let events = try lanes.map { try send(#", "lane": "\#($0)""#, to: #"{"users": ["ada", "bob", "ada"]}"#) }
        try judge()
        try world.plan()
        for event in events { #expect(try world.recipients(event) == [device, bob]) }
        let batches = "SELECT lane FROM fanfare.batches ORDER BY lane"
        #expect(try world.connection.column(batches) == ["0", "1", "2"])
    }

    @Test(arguments: [
        #"{"topic": "news"}"#, #"{"condition": "'news' in topics"}"#, #"{"everyone": true}"#, #"{"users": [7, "ada"]}"#,
        #"{"users": ["ada", "other"], "devices": "$.tier == \"gold\"", "provider": "apns", "kind": "device"}"#,
        #"{"tokens": ["aa"], "provider": "apns"}"#,
        #"{"users": ["ada", "other"], "permission": "authorized", "presents": ["badge", "alert"]}"#,
    ])
    func eachAudienceIsReached(to: String) throws {
        try world.device(
            "aa",
            user: "ada",
            #"attributes => '{"tier": "gold"}', permission => 'authorized', presents => '{alert,badge}'"#
        )
        try world.device("cc", user: "other")
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(device))
        let event = try send(to: to)
        try judge()
        try world.plan()
        #expect(try world.recipients(event).contains(device))
        #expect(try world.recipients(event).count == (to.contains("everyone") ? 2 : 1))
    }

    @Test func theSameKeyIsSentOnce() throws {
        let events = try (0..<2).map { try send(#", "key": "k""#, title: "\($0)") }
        try judge()
        try world.plan()
        #expect(try events.map(world.fate) == ["planned", "duplicate"])
        let late = try send(#", "key": "k""#)
        try world.plan()
        #expect(try world.fate(late) == "duplicate")
    }

    /// What only a daemon can find ends the messages that were sent before it looked, and then refuses the call.
    @Test func aRefusedShapeIsVisibleWithItsMessagesAndInTheCall() throws {
        let message =
            #"{"app": "shop", "to": {"users": "ada"}, "message": {"notification": {"title": "T", "titel": "?"}}}"#
        var loop = try planner()
        let event = try world.connection.number("SELECT fanfare.send($1::jsonb)", message)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.fate(event) == "waiting")
        try judge()
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event)?.hasPrefix("message.notification.titel: unknown key; ") == true)
        let why = try world.connection.text("SELECT detail FROM fanfare.why_verdict($1::bigint, 'ada')", String(event))
        #expect(why?.contains("message.notification.titel: unknown key") == true, "\(why ?? "")")
        let error = #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT fanfare.send($1::jsonb)", message)
        }
        #expect(error?.message == "message.notification.titel: unknown key")
        #expect(error?.hint?.contains("title") == true)
    }

    @Test func whyCallsItAMessage() throws {
        _ = try send(#", "lane": "bulk""#)
        let event = try send()
        let rows = "SELECT rule, detail FROM fanfare.why($1::bigint, 'ada') WHERE rule IS NOT NULL"
        let before = try world.connection.query(rows, String(event)).rows
        #expect(before.map { $0[0] } == ["shop/(send)"])
        #expect(before[0][1]?.hasPrefix("The message waits to be checked by a daemon") == true)
        try judge()
        try world.plan()
        let after = try world.connection.query(rows, String(event)).rows
        #expect(after[0] == ["shop/(send)", "It was sent without a rule, by fanfare.send"])
        #expect(Set(after.map { $0[0] }) == ["shop/(send)"])
    }

    @Test func shapesAreNoRulesOfTheApp() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        _ = try send()
        try judge()
        #expect(try world.connection.run(SQL.storedRules(nil)).map(\.name) == ["r"])
        let shape = try #require(try world.connection.text("SELECT name FROM fanfare.shapes"))
        #expect(try world.connection.text("SELECT fanfare.drop_rule('shop', $1)", "send/\(shape)") == "f")
    }

    /// A shape that nothing uses is stored again, and its rule stays for as long as its events may be in the log.
    @Test func shapesEndAfterTheLogsRetention() throws {
        let days: Int32 = 30
        let shapes =
            "SELECT coalesce(string_agg((retired_at IS NOT NULL)::text, ' ' ORDER BY name), '') FROM fanfare.shapes"
        func tidyUp() throws {
            _ = try world.connection.runReturningCount(SQL.retireShapes(days))
            _ = try world.connection.runReturningCount(SQL.endShapes(days))
        }
        _ = try send()
        try judge()
        try world.plan()
        try tidyUp()
        #expect(try world.connection.text(shapes) == "false", "it is new")
        let age =
            "UPDATE fanfare.shapes SET seen_at = seen_at - interval '31 days', retired_at = retired_at - interval '31 days'"
        let use = """
            INSERT INTO fanfare.stats (day, rule_version, target_id, outcome, deliveries)
            SELECT (now() AT TIME ZONE 'UTC')::date - 29, v.id, 1, 1, 5 FROM fanfare.rule_versions AS v
            """
        try world.connection.execute("\(age); \(use)")
        try tidyUp()
        #expect(try world.connection.text(shapes) == "false", "it was used")
        try world.connection.execute("\(age); DELETE FROM fanfare.stats")
        try tidyUp()
        #expect(try world.connection.text(shapes) == "true")
        let event = try send()
        try judge()
        try world.plan()
        #expect(try world.recipients(event) == [device])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.shapes WHERE retired_at IS NULL") == 1)
        let waiting = """
            INSERT INTO fanfare.outbox (type, payload, own) SELECT 'send.shop', jsonb_build_object('shape', name), true
            FROM fanfare.shapes WHERE retired_at IS NOT NULL
            """
        try world.connection.execute("\(age); \(waiting); UPDATE fanfare.shapes SET seen_at = now()")
        try tidyUp()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.shapes") == 2, "an event waits")
        try world.connection.execute("DELETE FROM fanfare.outbox")
        try tidyUp()
        #expect(try world.connection.text(shapes) == "false")
        let ended =
            "SELECT count(*) FROM fanfare.rules AS r JOIN fanfare.rule_versions AS v ON v.rule_id = r.id WHERE r.dropped_at IS NOT NULL AND v.retired_at IS NOT NULL"
        #expect(try world.connection.number(ended) == 1)
    }

    @Test func aRefusedShapeIsJudgedAgainAfterAnHour() throws {
        let message = #"{"app": "shop", "to": {"users": "ada"}, "message": {"titel": "T"}}"#
        _ = try world.connection.query("SELECT fanfare.send($1::jsonb)", message)
        try judge()
        try world.connection.execute("UPDATE fanfare.shapes SET seen_at = seen_at - interval '61 minutes'")
        _ = try world.connection.runReturningCount(SQL.retireShapes(30))
        _ = try world.connection.query("SELECT fanfare.send($1::jsonb)", message)
        #expect(
            try world.connection.number("SELECT count(*) FROM fanfare.rule_versions WHERE state = 'unchecked'") == 1
        )
    }
}
