import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import FanfareService

/// Events that make planning fail stop nobody else.
@Suite(.database)
struct PoisonTests {
    @Test func aKeyBeyondWhatAnIndexHolds() throws {
        let world = try World()
        let long = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 300) AS g"
        try expectRefusal(in: world) { try world.emit("e", #"{"u": "u"}"#, key: world.connection.text(long)) }
    }

    @Test func aTimeToLiveBeyondTheCalendar() throws {
        let world = try World()
        try expectRefusal(in: world) { try world.emit("e", #"{"u": "u"}"#, ttl: "170000000 years") }
    }

    /// Planning passes these: the rule's is shorter, or the sum is still within the calendar.
    @Test(arguments: [("170000000 years", #""ttl": "1h""#), ("292240 years", "")])
    func aTimeToLiveBeyondMicroseconds(ttl: String, rule more: String) throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
        let event = try world.emit("e", #"{"u": "u"}"#, ttl: ttl)
        try world.plan()
        #expect(try world.fate(event) == "planned")
        let one = try #require(try world.prepare(try world.claim()).first)
        #expect(one.batch.pairs.count == 1 && one.decided.isEmpty)
        #expect(one.batch.variants.first?.push[header: "apns-expiration"] != nil)
    }

    @Test func aJSONPathBomb() throws {
        let world = try World()
        // Within all limits, and yet 18,000 × 18,000 comparisons.
        try world.rule("bomb", event: "bomb", to: #"{"users": "$.u"}"#, #""when": "exists($.a[*] ? ($.a[*] < @))""#)
        // Far less than the bomb would take, far more than anything else does on a busy machine.
        try expectRefusal(in: world, timeout: "3s") {
            try world.emit("bomb", #"{"u": "u", "a": [1\#(String(repeating: ",1", count: 18_000))]}"#)
        }
    }

    @Test func aMachineThatStandsStillIsNoBomb() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        // Longer than one event may take, the first time; a sequence keeps count beyond the rollback.
        try world.connection.execute(
            """
            CREATE SEQUENCE stalls;
            CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('stalls') = 1 THEN PERFORM pg_sleep(60); END IF;
                RETURN new;
            END $$;
            CREATE TRIGGER stall BEFORE INSERT ON fanfare.event_log FOR EACH ROW EXECUTE FUNCTION stall();
            """
        )
        let event = try world.emit("e", #"{"u": "u"}"#)
        #expect(try world.connection.run(SetAside(floor: OutboxFloor(), limit: 10)) == [1])
        try world.plan()
        #expect(try world.connection.number("SELECT last_value FROM stalls") == 2)
        #expect(try world.fate(event) == "planned")
        #expect(try world.recipients(event) == [device])
    }

    /// Plans an event among others: it alone is refused, with the error that it met.
    private func expectRefusal(in world: World, timeout: String = "30s", emit: () throws -> Int64) throws {
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let before = try (0..<5).map { try world.emit("e", #"{"u": "u", "n": \#($0)}"#) }
        let culprit = try emit()
        let after = try (0..<5).map { try world.emit("e", #"{"u": "u", "n": \#($0)}"#, key: "k\($0)") }
        try world.connection.execute("SET statement_timeout = '\(timeout)'")
        try world.plan()
        for event in before + after {
            #expect(try world.fate(event) == "planned")
            #expect(try world.recipients(event) == [device])
        }
        #expect(try world.fate(culprit) == "refused")
        let detail = try #require(try world.detail(culprit))
        #expect(detail.contains("SQLSTATE"), "\(detail)")
        #expect(try world.recipients(culprit).isEmpty)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox_slow") == 0)
    }

    @Test func aTimeoutForALockInTheSideQueueMarksNobody() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#, key: "k")
        #expect(try world.connection.run(SetAside(floor: OutboxFloor(), limit: 10)) == [1])
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; INSERT INTO fanfare.event_keys VALUES ('e', 'k', 1, now())")
        let lane = SlowLane(context: world.context)
        let error = #expect(throws: PostgresError.self) { try lane.plan(on: world.connection) }
        #expect(error?.sqlState == "55P03")
        #expect(try world.fate(event) == "waiting")
        try other.execute("ROLLBACK")
        try lane.plan(on: world.connection)
        #expect(try world.fate(event) == "planned")
    }

    @Test func onlyTheEventThatFailedIsRefused() throws {
        let world = try World()
        let earlier = try world.emit("e")
        let culprit = try world.emit("e")
        #expect(try world.connection.run(SetAside(floor: OutboxFloor(), limit: 10)) == [2])
        let xid = try #require(
            try world.connection.text("SELECT xid FROM fanfare.outbox_slow WHERE id = $1", "\(culprit)")
        )
        let chosen = SlowEvent(xid: xid, id: culprit)
        let refuse = RefuseSlowEvent(event: chosen, detail: "d")
        #expect(try world.connection.run(refuse) == [culprit])
        #expect(try world.fate(earlier) == "waiting")
        #expect(try world.fate(culprit) == "refused")
        #expect(try world.connection.run(refuse).isEmpty, "it is gone, and nobody is taken in its place")
        let round = PlanRoundSummary(try world.connection.run(PlanSlowEvent(event: chosen, batchSize: 1000)))
        #expect(round.taken == 0)
        #expect(try world.connection.run(NextSlowEvent()).map(\.id) == [earlier])
    }

    @Test func aTimeoutForALockMarksNobody() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; INSERT INTO fanfare.event_keys VALUES ('e', 'k', 1, now())")
        try world.connection.execute("SET lock_timeout = '50ms'")
        let error = #expect(throws: PostgresError.self) { try world.plan() }
        #expect(error?.sqlState == "55P03")
        #expect(try world.fate(event) == "waiting")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox_slow") == 0)
        try other.execute("ROLLBACK")
        try world.plan()
        #expect(try world.fate(event) == "planned")
    }

    @Test func aDatabaseThatTakesNoWritesMarksNobody() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.connection.execute("SET default_transaction_read_only = on")
        let error = #expect(throws: PostgresError.self) { try world.plan() }
        #expect(error?.isReadOnly == true)
        // Promoted between the round and what would mark its set, the same server would take the mark.
        #expect(error?.isDataError == false)
        try world.connection.execute("SET default_transaction_read_only = off")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox_slow") == 0)
        try world.plan()
        #expect(try world.fate(event) == "planned")
    }
}
