import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The devices that an event is planned for.
@Suite(.database)
struct AudienceTests {
    @Test func usersOneManyArrayAndNumbers() throws {
        let world = try World()
        let ann = try world.device("aa", user: "ann")
        let seven = try world.device("bb", user: "7")
        let second = try world.device("cc", user: "7")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        for (payload, expected) in [
            (#"{"u": "ann"}"#, [ann]), (#"{"u": 7}"#, [seven, second]),
            (#"{"u": ["ann", 7, "7", "ann"]}"#, [ann, seven, second]),
            (#"{"u": []}"#, []), (#"{"u": null}"#, []), (#"{"u": {"id": "ann"}}"#, []), ("{}", []),
            (#"{"u": ["ann", null]}"#, [ann]),
        ] {
            let event = try world.emit("e", payload)
            try world.plan()
            #expect(try world.recipients(event) == expected, "\(payload)")
        }
    }

    @Test func filters() throws {
        let world = try World()
        let gold = try world.device("a0", user: "u", #"attributes => '{"tier": "gold"}'"#)
        let plain = try world.device("a1", user: "u")
        let sandbox = try world.device("a5", user: "u", "environment => 'sandbox'")
        let voip = try world.device("a2", user: "u", "kind => 'voip'")
        try world.device("a3", user: "u")
        _ = try world.connection.query("SELECT fanfare.unregister_device('shop', 'apns', 'a3')")
        _ = try world.connection.query("SELECT fanfare.register_device('other', 'apns', 'a4', 'u')")
        for (n, more, expected) in [
            (1, "", [gold, plain, sandbox]), (2, #", "devices": "$.tier == \"gold\"""#, [gold]),
            (3, #", "provider": "apns""#, [gold, plain, sandbox]), (4, #", "kind": "voip""#, [voip]),
        ] {
            // Two versions of one rule would suffice; two rules keep the events apart.
            try world.rule("r\(n)", event: "e\(n)", to: #"{"users": "$.u"\#(more)}"#)
            let event = try world.emit("e\(n)", #"{"u": "u"}"#)
            try world.plan()
            #expect(try world.recipients(event) == expected, "\(more)")
        }
    }

    @Test func theSameFiltersHoldForTopicsAndEveryone() throws {
        let world = try World()
        let gold = try world.device("a0", #"attributes => '{"tier": "gold"}'"#)
        let plain = try world.device("a1")
        let voip = try world.device("a2", "kind => 'voip'")
        let gone = try world.device("a3")
        let foreign = try world.connection.number("SELECT fanfare.register_device('other', 'apns', 'a4')")
        for device in [gold, plain, voip, gone, foreign] {
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 't')", "\(device)")
        }
        _ = try world.connection.query("SELECT fanfare.unregister_device('shop', 'apns', 'a3')")
        for (n, to) in [#""topic": "t""#, #""condition": "'t' in topics""#, #""everyone": true"#].enumerated() {
            try world.rule("p\(n)", event: "p\(n)", to: "{\(to)}")
            try world.rule("g\(n)", event: "g\(n)", to: #"{\#(to), "devices": "$.tier == \"gold\""}"#)
            try world.rule("v\(n)", event: "v\(n)", to: #"{\#(to), "kind": "voip"}"#)
            let events = try ["p", "g", "v"].map { try world.emit("\($0)\(n)") }
            try world.plan()
            #expect(try events.map { try world.recipients($0) } == [[gold, plain], [gold], [voip]], "\(to)")
        }
    }

    @Test(arguments: [0, 1, 999, 1000, 1001, 2500])
    func aTopicOfAnySizeIsPlannedExactly(_ size: Int) throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"topic": "team-{{id}}"}"#)
        var expected: [Int64] = []
        if size > 0 {
            let range = try world.devices(size)
            _ = try world.connection.query("SELECT fanfare.subscribe(array_agg(id), 'team-7') FROM fanfare.devices")
            // A disabled device counts as scanned, not as found: the slice's end must not depend on it.
            _ = try world.connection.query(
                "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'r' WHERE id = $1",
                "\(range.lowerBound)"
            )
            expected = Array(range.dropFirst())
        }
        let event = try world.emit("e", #"{"id": 7}"#)
        try world.planRounds()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.plans") == (size >= 1000 ? 1 : 0))
        if size >= 1000 { try world.slice() }
        #expect(try world.recipients(event) == expected)
        #expect(try world.fate(event) == "planned")
        let wrong = "SELECT count(*) FROM fanfare.batches WHERE cardinality(device_ids) > 1000"
        #expect(try world.connection.number(wrong) == 0)
    }

    @Test func aTokenRegisteredAgainMeanwhileIsNotPushedTwice() throws {
        let world = try World()
        let range = try world.devices(1500)
        _ = try world.connection.query("SELECT fanfare.subscribe(array_agg(id), 't') FROM fanfare.devices")
        try world.rule("r", event: "e", to: #"{"topic": "t"}"#)
        let event = try world.emit("e")
        try world.planRounds()
        // The user changes between the first and the second slice: a new device with the same token.
        let again = try world.connection.number(
            """
            SELECT fanfare.register_device('shop', 'apns', token, 'someone else') FROM fanfare.devices WHERE id = $1
            """,
            "\(range.lowerBound)"
        )
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 't')", "\(again)")
        try world.slice()
        #expect(try world.recipients(event) == Array(range))
    }

    @Test func unknownTokensAreRegisteredWithoutAUser() throws {
        let world = try World()
        let known = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"tokens": "$.t", "provider": "apns"}"#)
        let event = try world.emit("e", #"{"t": ["AA", "bb", "bb", "no token", 5]}"#)
        try world.plan()
        let new = try world.connection.number("SELECT id FROM fanfare.devices WHERE token = 'bb' AND user_id IS NULL")
        #expect(try world.recipients(event) == [known, new])
        #expect(try world.connection.text("SELECT user_id FROM fanfare.devices WHERE token = 'aa'") == "u")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.devices") == 2)
    }

    @Test func subscriptionsThatNobodyRegisteredGetNothingAndCostNobodyElse() throws {
        let world = try World()
        let keys = "p256dh => '\(SampleSubscription.p256dh)', auth => '\(SampleSubscription.auth)'"
        let known = try world.device("https://x.example/1", user: "u", provider: "webpush", keys)
        try world.rule("r", event: "e", to: #"{"tokens": "$.t", "provider": "webpush"}"#)
        let event = try world.emit("e", #"{"t": ["https://x.example/1", "https://x.example/2", "no endpoint"]}"#)
        try world.plan()
        #expect(try world.fate(event) == "planned")
        #expect(try world.recipients(event) == [known])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.devices") == 1)
    }

    @Test func aTopicThatCannotBeRenderedRefusesItsEventOnly() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'team-7')", "\(device)")
        try world.rule("r", event: "e", to: #"{"topic": "team-{{id}}"}"#)
        let (missing, illegal, good) = try (
            world.emit("e"), world.emit("e", #"{"id": "a b"}"#), world.emit("e", #"{"id": 7}"#)
        )
        try world.plan()
        #expect(try world.fate(missing) == "refused")
        #expect(try world.detail(missing)?.contains("id") == true)
        #expect(try world.fate(illegal) == "refused")
        #expect(try world.recipients(good) == [device])
    }

    @Test func aRuleThatOnlyANewerDaemonUnderstandsShowsAtItsEvent() throws {
        let world = try World()
        try world.device("aa", user: "u")
        let version = try world.rule("r", event: "e", to: #"{"topic": "team-7"}"#)
        try world.connection.execute(
            """
            UPDATE fanfare.rule_versions SET definition = jsonb_set(definition::jsonb, '{to}', '{"stars": "all"}')::json
            WHERE id = \(version)
            """
        )
        let event = try world.emit("e")
        try world.plan()
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event)?.contains("rule version \(version)") == true)
    }

    @Test func aValueInAConditionCannotWidenIt() throws {
        let world = try World()
        for (n, topic) in ["store-1", "store-2", "muted"].enumerated() {
            let device = try world.device("a\(n)")
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, $2)", "\(device)", topic)
        }
        try world.rule("r", event: "e", to: #"{"condition": "'store-{{id}}' in topics && !('muted' in topics)"}"#)
        let attack = try world.emit("e", #"{"id": "1' in topics || 'store-2"}"#)
        let honest = try world.emit("e", #"{"id": 1}"#)
        try world.plan()
        #expect(try world.recipients(attack).isEmpty)
        #expect(try world.fate(attack) == "refused")
        #expect(try world.recipients(honest).count == 1)
    }

    @Test func deliveriesOfSmallEventsTravelTogether() throws {
        let world = try World(settings: StageSettings(batchSize: 10))
        for n in 0..<25 { try world.device("aa\(10 + n)", user: "\(n)") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let events = try (0..<25).map { try world.emit("e", #"{"u": \#($0)}"#) }
        try world.plan()
        let sizes = try world.connection.column("SELECT cardinality(event_ids) FROM fanfare.batches ORDER BY 1")
        #expect(sizes == ["5", "10", "10"])
        for event in events { #expect(try world.recipients(event).count == 1) }
        let unsorted = """
            SELECT count(*) FROM fanfare.batches WHERE device_ids <> ARRAY(SELECT unnest(device_ids) ORDER BY 1)
            """
        #expect(try world.connection.number(unsorted) == 0)
    }
}
