import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events that are taken back: what waits, and what devices accepted.
@Suite(.database)
struct RetractTests {
    private static let users = #"{"users": "$.u"}"#
    private static let collapse = #""collapse": "room-{{room}}""#

    /// Emits an event, plans it, and lets providers accept it.
    private func send(_ payload: String, key: String? = nil, on world: World) throws -> Int64 {
        let event = try world.emit("chat", payload, key: key)
        try world.plan()
        try world.answer()
        return event
    }

    @Test func devicesThatAcceptedAnEventAreToldOnce() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.register(android: "android", user: "ann")
        let refused = try world.device("aa11", user: "ann")
        try world.device(
            "https://push.example/1",
            user: "ann",
            provider: "webhook",
            "auth => 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'"
        )
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let event = try world.emit("chat", #"{"u": "ann", "room": 5}"#)
        try world.plan()
        try world.answer("CASE WHEN d = \(refused) THEN 96 ELSE 1 END")
        #expect(try world.retract(event))
        try world.takeBack()
        #expect(try world.silentPushes() == ["aa10: room-5", "android: room-5"])
        let batches = try world.claim()
        #expect(batches.allSatisfy { $0.lane == Lane.bulk.rawValue } && batches.count == 2)
        try world.takeBack(at: "now() + interval '1 h'")
        #expect(try world.claim().isEmpty)
        #expect(try world.connection.number("SELECT devices FROM fanfare.retractions") == 3)
        #expect(
            try world.connection.text("SELECT type FROM fanfare.events WHERE type LIKE 'retract%' AND fate = 'planned'")
                == "retract.shop"
        )
        // The internal rule is in no list, and never in force.
        #expect(try world.connection.column("SELECT name FROM fanfare.rules WHERE dropped_at IS NULL") == ["chat"])
        let detail = "SELECT detail FROM fanfare.deliveries WHERE event_id = $1 AND user_id = 'ann' ORDER BY device_id"
        let details = try world.connection.column(detail, String(event))
        #expect(details[0].contains("taken back at") && details[0].contains("a silent push was queued by"))
        #expect(!details[2].contains("taken back") && details[3].contains("asks at its start"))
        let times = "SELECT count(retracted_at) FROM fanfare.deliveries WHERE event_id = $1"
        #expect(try world.connection.number(times, String(event)) == 3)
    }

    @Test func aSecondRetractionWithinFiveMinutesIsMerged() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.device("aa11", user: "bob")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let events = try (1...4).map {
            try send(#"{"u": \#($0 == 1 ? #""ann""# : #"["ann", "bob"]"#), "room": \#($0)}"#, on: world)
        }
        try world.retract(events[0])
        try world.takeBack(at: "now() + interval '1 second'")
        try world.retract(events[1])
        try world.retract(events[2])
        try world.takeBack(at: "now() + interval '2 minutes'")
        try world.retract(events[3])
        try world.takeBack(at: "now() + interval '4 minutes'")
        #expect(try world.silentPushes() == ["aa10: room-1", "aa11: room-2 room-3"], "bob had none before")
        try world.takeBack(at: "now() + interval '5 minutes 3 seconds'")
        #expect(try world.silentPushes() == ["aa10: room-1", "aa11: room-2 room-3", "aa10: room-2 room-3 room-4"])
        try world.takeBack(at: "now() + interval '8 minutes'")
        #expect(try world.silentPushes().last == "aa11: room-4")
        try world.takeBack(at: "now() + interval '1 day'")
        #expect(try world.silentPushes().count == 4)
    }

    @Test func aDeviceIsToldTheNewestFiftyThatFit() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, #""collapse": "{{room}}""#)
        let long = String(repeating: "x", count: 60)
        var events: [Int64] = []
        for room in 10..<70 { events.append(try world.emit("chat", #"{"u": "ann", "room": "\#(long)-\#(room)"}"#)) }
        try world.plan()
        try world.answer()
        for event in events {
            try world.retract(event)
            try world.takeBack(at: "now()")
        }
        try world.takeBack(at: "now() + interval '1 h'")
        #expect(try world.connection.number("SELECT cardinality(ids) FROM fanfare.retracted_devices") == 50)
        let sizes = try world.connection.column(
            "SELECT octet_length((payload -> 'retracted')::text) FROM fanfare.events WHERE type = 'retract.shop' ORDER BY id"
        )
        #expect(sizes.compactMap { Int($0) }.allSatisfy { $0 < 3500 } && sizes.count == 2)
        #expect(try world.silentPushes().last?.contains("\(long)-69") == true)
    }

    @Test func whatWaitsEndsAsRetracted() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.device("aa11", user: "bob")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let (first, second) = (
            try world.emit("chat", #"{"u": "ann", "room": 1}"#),
            try world.emit("chat", #"{"u": ["ann", "bob"], "room": 2}"#)
        )
        try world.plan()
        try world.retract(first)
        try world.retract(second, from: "ann")
        let decided = try world.prepare(try world.claim()).flatMap(\.decided)
        #expect(decided.map(\.outcome) == [.retracted, .retracted], "bob gets his")
        // Before it is planned.
        let third = try world.emit("chat", #"{"u": "ann", "room": 3}"#, key: "k")
        #expect(try world.connection.text("SELECT fanfare.retract('chat', 'k')") == "t")
        try world.plan()
        #expect(try world.fate(third) == "cancelled")
        #expect(try world.connection.text("SELECT fanfare.retract('chat', 'none')") == "f")
        #expect(try !world.retract(7))
    }

    @Test func batchesThatWaitLongEndAtOnce() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let event = try world.emit("chat", #"{"u": "ann", "room": 1}"#)
        try world.rule("other", event: "other", to: Self.users)
        let cancelled = try world.emit("other", #"{"u": "ann"}"#)
        try world.planRounds()
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() + interval '8 h'")
        try world.retract(event)
        try world.connection.execute("SELECT fanfare.cancel(\(cancelled))")
        _ = try world.connection.run(EndCancelled(since: nil))
        #expect(try world.outcomes(event) == ["retracted/taken_back"])
        #expect(try world.outcomes(cancelled) == ["cancelled/cancel_requested"])
    }

    @Test func aDeliveryInFlightIsWaitedFor() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let event = try world.emit("chat", #"{"u": "ann", "room": 1}"#)
        try world.plan()
        _ = try world.claim()
        try world.retract(event)
        try world.takeBack()
        #expect(try world.silentPushes().isEmpty)
        try world.answer()
        try world.takeBack(at: "now() + interval '7 seconds'")
        #expect(try world.silentPushes() == ["aa10: room-1"])
    }

    @Test func oneUserAloneIsTakenBackFrom() throws {
        let world = try World()
        for user in ["ann", "bob"] { try world.register(android: user, user: user) }
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        let event = try send(#"{"u": ["ann", "bob"], "room": 1}"#, key: "k", on: world)
        #expect(try world.connection.text("SELECT fanfare.retract('chat', 'k', 'bob')") == "t")
        try world.takeBack()
        #expect(try world.silentPushes() == ["bob: room-1"])
        let taken =
            "SELECT string_agg(user_id, ',') FROM fanfare.deliveries WHERE event_id = $1 AND retracted_at IS NOT NULL"
        #expect(try world.connection.text(taken, String(event)) == "bob")
    }

    @Test func identifiersAreThoseThatProvidersGot() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        let keys = "p256dh => '\(SampleSubscription.p256dh)', auth => '\(SampleSubscription.auth)'"
        try world.device("https://push.example/1", user: "ann", provider: "webpush", keys)
        try world.rule("chat", event: "chat", to: Self.users, #""collapse": "{{room}}""#)
        let odd = try send(#"{"u": "ann", "room": "Büro"}"#, on: world)
        let plain = try send(#"{"u": "ann", "room": "office"}"#, on: world)
        let hash = { WebPushTopic.hash(collapse: $0, app: "shop") }
        try world.retract(odd)
        try world.retract(plain)
        try world.takeBack()
        #expect(try world.silentPushes() == ["aa10: \([hash("Büro"), "office"].sorted().joined(separator: " "))"])
        let known = "SELECT provider || ' ' || id FROM fanfare.retracted('shop', 'ann') ORDER BY 1"
        let expected = ["apns \(hash("Büro"))", "apns office", "webpush \(hash("Büro"))", "webpush \(hash("office"))"]
        #expect(try Set(world.connection.column(known)) == Set(expected))
        #expect(
            try world.connection.column("SELECT id FROM fanfare.retracted('shop', 'ann', now() + interval '1 h')")
                .isEmpty
        )
        #expect(try world.connection.column("SELECT id FROM fanfare.retracted('shop', 'bob')").isEmpty)
        #expect(try world.connection.number("SELECT fanfare.forget_user('shop', 'ann')") == 2)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.retracted_devices") == 0)
    }

    @Test func aRuleWithoutCollapseSendsNoSilentPush() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users)
        let event = try send(#"{"u": "ann"}"#, on: world)
        try world.retract(event)
        try world.takeBack()
        #expect(try world.silentPushes().isEmpty)
        let detail = "SELECT detail FROM fanfare.deliveries WHERE event_id = $1"
        #expect(try world.connection.text(detail, String(event))?.contains("the rule has no collapse") == true)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.retractions WHERE due_at IS NULL") == 1)
    }

    /// A broadcast has more batches than one step reads, and two daemons share them.
    @Test func eachDeviceOfABroadcastIsToldExactlyOnce() throws {
        let world = try World(settings: StageSettings(batchSize: 50))
        try world.devices(2_500)
        try world.rule("chat", event: "chat", to: #"{"everyone": true}"#, Self.collapse)
        let event = try world.emit("chat", #"{"room": 1}"#)
        try world.plan()
        try world.answer()
        try world.retract(event)
        let threads = (0..<2).map { number in
            WorkerThread.start(name: "daemon-\(number)") { [database = TestDatabase.current] in
                guard let other = try? World(database) else { return }
                for _ in 0..<20 { try? other.takeBack() }
            }
        }
        for thread in threads { thread.join() }
        try world.takeBack()
        let counts = """
            SELECT count(*) || '/' || count(DISTINCT p.device_id) FROM fanfare.deliveries AS p WHERE p.event_type = 'retract.shop'
            """
        #expect(try world.connection.text(counts) == "2500/2500")
        #expect(try world.connection.number("SELECT devices FROM fanfare.retractions WHERE due_at IS NULL") == 2_500)
    }

    @Test(arguments: [
        ("fanfare.retract(1, '')", "user_id: names nobody", "null for all"),
        ("fanfare.retract(1, 'undefined')", "cannot be 'undefined'", "Leave the user out"),
        ("fanfare.retract('chat', '')", "the key is empty", "an event's id"),
        ("fanfare.retract('chat', 'null')", "cannot be 'null'", "Pass the key"),
        ("fanfare.emit('retract.shop')", "emitted by Fanfare only", "Choose a type"),
    ])
    func badInputIsRefusedWithTheWayToFixIt(call: String, reason: String, hint: String) throws {
        let world = try World()
        _ = try world.emit("chat", "{}", key: "k")
        let error = try #require(world.connection.refusal("SELECT \(call)"))
        #expect(error.message.contains(reason), "\(error.message)")
        #expect(error.hint?.contains(hint) == true, "\(error.hint ?? "")")
    }

    @Test func emittersMayTakeBackAndReadersMayNot() throws {
        let world = try World()
        for (role, allowed) in [("emitter", true), ("reader", false), ("registrar", false)] {
            let error = world.connection.refusal("BEGIN; SET LOCAL ROLE fanfare_\(role); SELECT fanfare.retract(7)")
            try world.connection.execute("ROLLBACK")
            #expect((error?.sqlState != "42501") == allowed, "\(role)")
        }
    }

    @Test func oldRetractionsAreForgotten() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        try world.retract(try send(#"{"u": "ann", "room": 1}"#, on: world))
        try world.takeBack()
        var chores = world.chores()
        try chores.run(on: world.connection)
        let rows =
            "SELECT (SELECT count(*) FROM fanfare.retractions) + (SELECT count(*) FROM fanfare.retracted_devices)"
        #expect(try world.connection.number(rows) == 2)
        try world.connection.execute(
            "UPDATE fanfare.retractions SET created_at = now() - interval '31 d'; UPDATE fanfare.retracted_devices SET changed_at = now() - interval '31 d'"
        )
        try chores.run(on: world.connection)
        #expect(try world.connection.number(rows) == 0)
    }
}
