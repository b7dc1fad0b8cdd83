import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The fates of events when they are planned.
@Suite(.database)
struct FateTests {
    @Test func everyFate() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, #""when": "$.n > 1", "ttl": "1h""#)
        let to = #"{"u": "u", "n": 2}"#
        let planned = try world.emit("e", to, key: "k")
        let duplicate = try world.emit("e", to, key: "k")
        let unmatched = try world.emit("e", #"{"u": "u", "n": 1}"#)
        let unknown = try world.emit("other")
        let nobody = try world.emit("e", #"{"u": "stranger", "n": 2}"#)
        let cancelled = try world.emit("e", to)
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(cancelled)") == "t")
        let byKey = try world.emit("e", to, key: "c")
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'c')") == "t")
        let expired = try world.emit("e", to, ttl: "-1 s")
        let forever = try world.emit("e", to, ttl: "1 year")
        #expect(try world.fate(planned) == "waiting")
        try world.plan()
        #expect(try world.fate(planned) == "planned")
        #expect(try world.fate(duplicate) == "duplicate")
        #expect(try world.fate(unmatched) == "unmatched")
        #expect(try world.fate(unknown) == "unmatched")
        #expect(try world.fate(nobody) == "planned", "a rule took it; that the user has no device is another matter")
        #expect(try world.fate(cancelled) == "cancelled")
        #expect(try world.fate(byKey) == "cancelled")
        #expect(try world.fate(expired) == "expired")
        #expect(try world.fate(forever) == "planned")
        for event in [duplicate, unmatched, unknown, nobody, cancelled, byKey, expired] {
            #expect(try world.recipients(event).isEmpty)
        }
        #expect(try world.recipients(planned).count == 1)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
    }

    /// The database's clock was ten minutes ahead when the rule was stored, and was corrected afterwards.
    @Test func aClockThatWasSetBackHidesNoRule() throws {
        let world = try World()
        try world.device("aa", user: "u")
        let before = try world.emit("e", #"{"u": "u"}"#)
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        for (table, column) in [("rules", "created_at"), ("rule_versions", "rule_created_at")] {
            try world.connection.execute("UPDATE fanfare.\(table) SET \(column) = \(column) + interval '10 minutes'")
        }
        let after = try (0..<6).map { _ in try world.emit("e", #"{"u": "u"}"#) }
        try world.plan()
        #expect(try after.map { try world.fate($0) } == Array(repeating: "planned", count: 6))
        #expect(try world.fate(before) == "unmatched", "the rule was put later")
    }

    @Test func anEventThatNamesNobodySaysSo() throws {
        let world = try World()
        try world.device("aa", user: "ann")
        try world.rule("members", event: "e", to: #"{"users": "$.members[*]"}"#)
        try world.rule("owner", event: "owned", to: #"{"users": "$.owner"}"#)
        try world.rule("members-too", event: "owned", to: #"{"users": "$.members[*]"}"#)
        try world.rule("tokens", event: "token", to: #"{"tokens": "$.token", "provider": "apns"}"#)
        for (type, payload, detail) in [
            ("e", #"{"members": ["ann"]}"#, nil), ("e", #"{"members": ["a stranger"]}"#, nil),
            ("e", #"{"members": [{"id": "ann"}, "ann"]}"#, nil), ("e", #"{"members": 7}"#, nil),
            ("e", "{}", "rule members: to.users finds no recipient in this payload"),
            ("e", #"{"members": []}"#, "rule members: to.users finds no recipient in this payload"),
            ("e", #"{"members": [{"id": "ann"}]}"#, "rule members: to.users finds an object, where a string names one"),
            ("e", #"{"members": [null]}"#, "rule members: to.users finds null, where a string names one"),
            ("owned", #"{"members": ["ann"]}"#, "rule owner: to.users finds no recipient in this payload"),
            ("owned", #"{"members": ["ann"], "owner": "ann"}"#, nil),
            ("token", "{}", "rule tokens: to.tokens finds no recipient in this payload"),
        ] as [(String, String, String?)] {
            let event = try world.emit(type, payload)
            try world.plan()
            #expect(try world.fate(event) == "planned")
            #expect(try world.detail(event) == detail, "\(payload)")
        }
    }

    @Test func cancelStopsWhatCameBeforeNotWhatComesLater() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k')") == "f", "nothing known yet")
        let later = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try world.fate(later) == "planned")
        #expect(
            try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(later)") == "t",
            "known, not finished"
        )
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k')") == "t")
        #expect(try world.connection.text("SELECT fanfare.cancel(404)") == "f")
    }

    static let malformed = [
        ("[1]", "is not a JSON object"), (#""text""#, "is not a JSON object"), ("null", "is not a JSON object"),
        (#"{"x": "\#(String(repeating: "y", count: 65_536))"}"#, "65536 bytes"),
        (#"{"stored": "as a dozen bytes", "x": 1e70000}"#, "65536 bytes"),
        (#"{"x": \#(String(repeating: "[", count: 40))1\#(String(repeating: "]", count: 40))}"#, "32 levels"),
    ]

    @Test func malformedPayloadsAreRefusedAndCostNobodyElse() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let refused = try Self.malformed.map { try world.emit("e", $0.0) }
        let other = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        for (event, (payload, reason)) in zip(refused, Self.malformed) {
            #expect(try world.fate(event) == "refused", "\(payload.prefix(80))")
            #expect(try world.detail(event)?.contains(reason) == true, "\(payload.prefix(80))")
        }
        #expect(try world.recipients(other).count == 1)
    }

    @Test func thirtyTwoLevelsAreTheLimit() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let events = try [32, 33].map { levels in
            let open = String(repeating: "[", count: levels - 1)
            return try world.emit("e", #"{"x": \#(open)1\#(open.replacing("[", with: "]"))}"#)
        }
        try world.plan()
        #expect(try events.map { try world.fate($0) } == ["planned", "refused"])
    }

    @Test func aPayloadThatCompressesWellIsMeasuredUncompressed() throws {
        let world = try World()
        let fits = try world.emit("e", #"{"x": "\#(String(repeating: "y", count: 65_000))"}"#)
        let many = try world.emit("e", #"{"x": "\#(String(repeating: "y", count: 1_000_000))"}"#)
        try world.plan()
        #expect(try world.fate(fits) == "unmatched")
        #expect(try world.fate(many) == "refused")
    }

    @Test func anEventKeepsItsKeyAcrossRounds() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let first = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        let second = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let otherType = try world.emit("f", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try [first, second, otherType].map { try world.fate($0) } == ["planned", "duplicate", "unmatched"])
    }

    @Test func aKeyThatWasCancelledIsFree() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        func emit(_ key: String) throws -> Int64 { try world.emit("e", #"{"u": "u"}"#, key: key) }
        func cancel() throws -> String? { try world.connection.text("SELECT fanfare.cancel('e', 'k')") }

        let (first, echo) = (try emit("k"), try emit("k"))
        #expect(try cancel() == "t")
        let (second, secondEcho) = (try emit("k"), try emit("k"))
        try world.plan()
        #expect(
            try [first, echo, second, secondEcho].map { try world.fate($0) }
                == ["cancelled", "cancelled", "planned", "duplicate"]
        )

        let other = try emit("other")
        try world.plan()
        #expect(try cancel() == "t")
        let (third, thirdEcho, otherEcho) = (try emit("k"), try emit("k"), try emit("other"))
        try world.plan()
        #expect(
            try [third, thirdEcho, other, otherEcho].map { try world.fate($0) }
                == ["planned", "duplicate", "planned", "duplicate"]
        )
        #expect(try world.recipients(third).count == 1)
    }

    @Test func aKeyIsNotFreeAfterACancellationThatCameTooLate() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let first = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        try world.connection.execute("DELETE FROM fanfare.batches")
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k')") == "f")
        let again = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try [first, again].map { try world.fate($0) } == ["planned", "duplicate"])
    }

    @Test func anEventThatIsCancelledByItsIDKeepsItsKey() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let first = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let echo = try world.emit("e", #"{"u": "u"}"#, key: "k")
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(first)") == "t")
        try world.plan()
        let later = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try [first, echo, later].map { try world.fate($0) } == ["cancelled", "duplicate", "duplicate"])
    }

    @Test func aRuleNeverAppliesToWhatWasEmittedBeforeIt() throws {
        let world = try World()
        try world.device("aa", user: "u")
        let before = try world.emit("e", #"{"u": "u"}"#)
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let after = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.fate(before) == "unmatched")
        #expect(try world.fate(after) == "planned")
    }

    @Test func theVersionInForceWhenPlannedCounts() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.nobody"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        let second = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.plan()
        #expect(try world.connection.column("SELECT rule_version FROM fanfare.batches") == ["\(second)"])
        #expect(try world.recipients(event).count == 1)
    }

    @Test func twoRulesEachPushOnce() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r1", event: "e", to: #"{"users": "$.u"}"#)
        try world.rule("r2", event: "e", to: #"{"users": "$.u"}"#)
        try world.rule("off", event: "e", to: #"{"users": "$.u"}"#, #""enabled": false"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.recipients(event) == [device, device])
        #expect(try world.connection.number("SELECT count(DISTINCT rule) FROM fanfare.deliveries") == 2)
    }

    @Test func theShorterTimeToLiveCounts() throws {
        let world = try World()
        try world.rule("plain", event: "plain", to: #"{"users": "$.u"}"#)
        try world.rule("hour", event: "hour", to: #"{"users": "$.u"}"#, #""ttl": "1h""#)
        try world.connection.execute("UPDATE fanfare.rule_versions SET rule_created_at = now() - interval '9 days'")
        let cases = [
            ("plain", "1 h", "planned"), ("plain", "1 min", "expired"), ("plain", nil, "planned"),
            ("hour", "1 day", "planned"),
            ("hour", "1 min", "expired"),
        ]
        var events: [Int64] = []
        for (type, ttl, _) in cases { events.append(try emit(type, ttl: ttl, ago: "10 min", in: world)) }
        let late = try emit("hour", ttl: "1 day", ago: "2 h", in: world)
        let stale = try emit("plain", ttl: nil, ago: "25 h", in: world)
        try world.plan()
        #expect(try events.map { try world.fate($0) } == cases.map(\.2))
        #expect(try world.fate(late) == "expired")
        #expect(try world.fate(stale) == "expired", "without ttl after a day")
    }

    private func emit(_ type: String, ttl: String?, ago: String, in world: World) throws -> Int64 {
        try world.connection.number(
            """
            INSERT INTO fanfare.outbox (type, payload, ttl, created_at)
            VALUES ($1, '{"u": "u"}', $2::interval, now() - $3::interval) RETURNING id
            """,
            type,
            ttl,
            ago
        )
    }
}
