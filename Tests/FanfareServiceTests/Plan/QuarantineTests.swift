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

/// Events that make planning fail do not stop others.
@Suite(.database)
struct QuarantineTests {
    // MARK: Checks before planning

    @Test func aKeyOrTypeThatIsTooLongCostsItsEventOnly() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let long = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 80) AS g"
        let before = try world.emit("e", #"{"u": "u"}"#)
        let key = try world.emit("e", #"{"u": "u"}"#, key: world.connection.text(long))
        let type = try world.emit(String(repeating: "t", count: 256), #"{"u": "u"}"#, key: "k")
        let longest = try world.emit("e", #"{"u": "u"}"#, key: String(repeating: "k", count: 2048))
        let after = try world.emit("e", #"{"u": "u"}"#, key: "k")
        // All events in one set: none is planned alone.
        let round = PlanRoundSummary(
            try world.connection.run(PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 10))
        )
        #expect(round.taken == 5)
        for event in [before, longest, after] { #expect(try world.recipients(event) == [device]) }
        #expect(try world.fate(key) == "refused" && world.detail(key) == "the key has more than 2048 bytes")
        #expect(try world.fate(type) == "refused" && world.detail(type) == "the type has more than 255 bytes")
    }

    @Test func whatIsRefusedForItsShapeLeavesItsKeyToOthers() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let wrong = try world.emit("e", "[]", key: "k")
        let right = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try world.fate(wrong) == "refused")
        #expect(try world.recipients(right) == [device])
    }

    /// None of them fails: a sum beyond the calendar is not computed.
    @Test(arguments: [
        ("178000000 years", "", "planned"), ("170000000 years", #""ttl": "1h""#, "planned"),
        ("292240 years", "", "planned"),
        ("-178000000 years", "", "expired"), ("0", "", "expired"),
    ])
    func aTimeToLiveBeyondTheCalendar(ttl: String, rule more: String, fate: String) throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
        let event = try world.emit("e", #"{"u": "u"}"#, ttl: ttl)
        let round = PlanRoundSummary(
            try world.connection.run(PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 10))
        )
        #expect(round.taken == 1)
        #expect(try world.fate(event) == fate)
        guard fate == "planned" else { return }
        let one = try #require(try world.prepare(try world.claim()).first)
        #expect(one.batch.deliveries.count == 1 && one.decided.isEmpty)
        #expect(one.batch.variants.first?.push[header: "apns-expiration"] != nil)
    }

    // MARK: Failures in a set

    @Test func ofASetThatFailsOnlyTheCulpritsAreRefused() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.connection.execute("ALTER TABLE fanfare.event_keys ADD CONSTRAINT sound CHECK (key !~ '^bad')")
        let events = try (0..<100).map { n in
            try world.emit("e", #"{"u": "u"}"#, key: n % 40 == 20 ? "bad\(n)" : "\(n)")
        }
        let log = CapturedLog()
        var loop = try World(logger: log.logger).loop()
        _ = try loop.begin(on: world.connection)
        // The events at fault were found within the set, so no other event is planned alone.
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.quarantine") == 2)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.events WHERE fate = 'planned'") == 98)
        try world.plan()
        for (n, event) in events.enumerated() {
            let isBad = n % 40 == 20
            #expect(try world.fate(event) == (isBad ? "refused" : "planned"))
            #expect(try world.recipients(event) == (isBad ? [] : [device]))
        }
        let detail = try #require(try world.detail(events[20]))
        #expect(detail.contains("SQLSTATE 23514"), "\(detail)")
        #expect(log.end().count { $0.contains("it is planned alone") } == 2)
        #expect(world.counters.snapshot.eventsByFate == [6: 2])
    }

    /// The event is within all limits, but needs hundreds of millions of comparisons.
    private static let bomb = (
        path: #""when": "!exists($.a[*] ? ($.a[*] < @))""#,
        payload: #"{"u": "u", "a": [1\#(String(repeating: ",1", count: 18_000))]}"#
    )

    @Test func onceOneWasABombItsLikeStopNobody() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, Self.bomb.path)
        let (good, bombs) = try emit(world, sets: 4, bombs: 3)
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        // All valid events are planned, all bombs are in quarantine, and planning timed out once.
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.events WHERE fate = 'planned'") == good.count)
        #expect(try world.connection.column("SELECT id FROM fanfare.quarantine ORDER BY id") == bombs.map(String.init))
        #expect(log.count(of: "took too long") == 1)
        // A bomb that arrives alone is recognized too.
        let last = try world.emit("e", Self.bomb.payload)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.quarantine WHERE id = $1", "\(last)") == 1)
        #expect(log.count(of: "took too long") == 1)
        // A valid event beside them is planned first, although it arrived last.
        let large = try world.emit("e", #"{"u": "u", "t": "\#(String(repeating: "t", count: 40_000))"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        var lane = world.quarantine()
        lane.timeouts = [100, 150]
        try lane.plan(on: world.connection)
        #expect(try world.recipients(large) == [device])
        for event in bombs + [last] {
            #expect(try world.fate(event) == "refused")
            #expect(try world.detail(event)?.contains("57014") == true)
        }
        let before = """
            SELECT count(*) FROM fanfare.event_log WHERE fate = 6 AND planned_at < (SELECT planned_at FROM fanfare.event_log WHERE id = $1)
            """
        #expect(try world.connection.number(before, "\(large)") == 0)
    }

    /// Emits small events with bombs among them.
    private func emit(_ world: World, sets: Int, bombs: Int) throws -> (good: [Int64], bombs: [Int64]) {
        var good: [Int64] = []
        var bad: [Int64] = []
        for set in 0..<sets {
            if set < bombs { bad.append(try world.emit("e", Self.bomb.payload)) }
            good += try world.connection.column(
                """
                SELECT fanfare.emit('e', jsonb_build_object('u', 'u', 'a', ARRAY[g])) FROM generate_series(1, 1000) AS g
                """
            ).compactMap { Int64($0) }
        }
        return (good, bad)
    }

    @Test func anEventWhoseTopicTakesTooLongToRenderIsQuarantined() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"topic": "t-{{t}}"}"#)
        let event = try world.emit("e", #"{"t": "x"}"#)
        var loop = world.loop()
        loop.planning.audiences.patience = 0
        _ = try loop.begin(on: world.connection)
        #expect(try world.connection.column("SELECT id FROM fanfare.quarantine") == ["\(event)"])
        var lane = world.quarantine()
        lane.planning.audiences.patience = 0
        try lane.plan(on: world.connection)
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event)?.contains("took too long") == true)
    }

    /// The server ends a transaction that is idle for too long, together with its session.
    @Test func anEventThatCostASessionIsQuarantined() throws {
        let world = try World()
        let event = try world.emit("e")
        let later = try world.emit("e")
        var loop = world.loop(lost: 1)
        _ = try loop.begin(on: world.connection)
        #expect(try world.connection.column("SELECT id FROM fanfare.quarantine") == ["\(event)"])
        #expect(try world.fate(later) == "unmatched")
    }

    @Test func anEventThatCostsEachSessionIsRefused() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.quarantined(1)
        try world.connection.execute(
            """
            CREATE FUNCTION public.lose() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE 'as if' USING ERRCODE = '25P03'; END $$;
            CREATE TRIGGER lose BEFORE INSERT ON fanfare.event_log FOR EACH ROW WHEN (NEW.fate <> 6) EXECUTE FUNCTION public.lose();
            """
        )
        var lane = world.quarantine()
        for _ in lane.timeouts { #expect(throws: PostgresError.self) { try lane.plan(on: world.connection) } }
        try lane.plan(on: world.connection)
        #expect(try world.fate(event) == "refused")
    }

    // MARK: The quarantine

    @Test func aMachineThatStandsStillIsNoBomb() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        // The first attempt takes longer than an event may; the sequence counts in spite of the rollback.
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
        try world.quarantined(1)
        try world.plan()
        #expect(try world.connection.number("SELECT last_value FROM stalls") == 2)
        #expect(try world.fate(event) == "planned")
        #expect(try world.recipients(event) == [device])
    }

    @Test func aTimeoutForALockInTheQuarantineMarksNobodyAndHoldsUpNobody() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let later = try world.emit("e", #"{"u": "u"}"#)
        try world.quarantined(2)
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; INSERT INTO fanfare.event_keys VALUES ('e', 'k', 1, now())")
        var lane = world.quarantine()
        let error = #expect(throws: PostgresError.self) { try lane.plan(on: world.connection) }
        #expect(error?.sqlState == "55P03")
        #expect(try world.fate(event) == "waiting")
        #expect(try world.fate(later) == "planned")
        try other.execute("ROLLBACK")
        try lane.plan(on: world.connection)
        #expect(try world.fate(event) == "planned")
    }

    @Test func onlyTheEventThatFailedIsRefused() throws {
        let world = try World()
        let earlier = try world.emit("e")
        let culprit = try world.emit("e")
        try world.quarantined(2)
        let xid = try #require(
            try world.connection.text("SELECT xid FROM fanfare.quarantine WHERE id = $1", "\(culprit)")
        )
        let chosen = OutboxPlace(xid: xid, id: culprit)
        let refuse = SQL.refuseQuarantinedEvent(chosen.xid, chosen.id, "d")
        #expect(try world.connection.run(refuse).map(\.id) == [culprit])
        #expect(try world.fate(earlier) == "waiting")
        #expect(try world.fate(culprit) == "refused")
        #expect(try world.connection.run(refuse).isEmpty, "it is gone, and nobody is taken in its place")
        let round = PlanRoundSummary(
            try world.connection.run(SQL.planQuarantinedEvent(chosen.xid, chosen.id, Int32(1000)))
        )
        #expect(round.taken == 0)
        #expect(try world.connection.run(SQL.nextQuarantinedEvent([])).map(\.id) == [earlier])
        #expect(try world.connection.run(SQL.nextQuarantinedEvent([earlier])).isEmpty)
    }

    // MARK: Failures without an event at fault

    @Test func aTimeoutForALockMarksNobody() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; INSERT INTO fanfare.event_keys VALUES ('e', 'k', 1, now())")
        let error = #expect(throws: PostgresError.self) { try world.plan() }
        #expect(error?.sqlState == "55P03")
        #expect(try world.fate(event) == "waiting")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.quarantine") == 0)
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
        // If the server were promoted between the round and the marking of its set, it would accept the marks.
        #expect(error?.isDataError == false)
        try world.connection.execute("SET default_transaction_read_only = off")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.quarantine") == 0)
        try world.plan()
        #expect(try world.fate(event) == "planned")
    }
}
