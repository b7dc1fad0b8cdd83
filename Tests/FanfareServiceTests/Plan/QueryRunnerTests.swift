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

/// Events whose users a rule's query returns.
@Suite(.database)
struct QueryRunnerTests {
    private static let others = """
        SELECT m.user_id FROM public.members AS m \
        WHERE m.conversation_id = ($1->>'conversation_id')::bigint AND m.user_id <> $1->>'sender'
        """

    private let world: World
    private let runner: QueryRunner
    private let slowRunner: QueryRunner

    init() throws {
        world = try World()
        let costs = QueryCosts()
        runner = world.queryRunner(costs, isForSlow: false)
        slowRunner = world.queryRunner(costs, isForSlow: true)
        try world.connection.execute(
            """
            CREATE TABLE public.members (conversation_id bigint, user_id text, number bigint);
            INSERT INTO public.members VALUES (1, 'ann', 1), (1, 'bob', 2), (1, 'cid', 3), (1, 'cid', 3), (2, 'dan', 4);
            GRANT SELECT, INSERT ON public.members TO fanfare_sql;
            """
        )
    }

    private static func to(_ sql: String, _ more: String = "") -> String {
        #"{"users_sql": \#(String(decoding: JSONValue.string(sql).encoded, as: UTF8.self))\#(more)}"#
    }

    /// Plans, and runs the query once for each due event.
    private func ask() throws {
        try world.plan()
        for runner in [runner, slowRunner] { while try runner.takeTurn(on: world.connection) {} }
    }

    /// Runs the query as often as a failing event is retried.
    private func askUntilRefused() throws {
        try ask()
        for _ in QueryRunner.pauses {
            try world.connection.execute("UPDATE fanfare.audience_queries SET not_before = now()")
            try ask()
        }
    }

    private func waiting() throws -> Int64 {
        try world.connection.number("SELECT count(*) FROM fanfare.audience_queries")
    }

    /// The error quotes the value that the cast rejects.
    @Test func whatAnErrorQuotesIsCut() throws {
        try world.rule("r", event: "e", to: Self.to("SELECT (repeat('x', 1000000) || ($1->>'a'))::int::text"))
        let event = try world.emit("e", #"{"a": "a"}"#)
        try askUntilRefused()
        let detail = try #require(try world.detail(event))
        #expect(detail.hasPrefix("rule r: to.users_sql") && detail.utf8.count < 3000)
        #expect(try world.connection.number("SELECT max(octet_length(error)) FROM fanfare.audience_failures") < 3000)
        #expect(try world.connection.number("SELECT max(octet_length(detail)) FROM fanfare.health") < 4000)
    }

    /// Each rule adds a note why it could not be planned, and an emitter can put the message of a watch into the event.
    @Test func manyProblemsOfOneEventFitIntoTheLog() throws {
        for number in 0..<40 {
            try world.rule("r\(number)", event: "e", to: #"{"topic": "t-{{\#(String(repeating: "n", count: 200))}}"}"#)
        }
        let event = try world.emit("e")
        let row = try world.emit("f", #"["fanfare.watch_table", "\#(String(repeating: "x", count: 30_000))"]"#)
        try world.plan()
        #expect(try world.detail(event)?.count == 2000)
        #expect(try world.fate(row) == "refused" && world.detail(row)?.count == 2000)
    }

    @Test func allMembersButTheSender() throws {
        let bob = try world.device("b0", user: "bob")
        let cid = try ["c0", "c1"].map { try world.device($0, user: "cid") }
        try world.device("a0", user: "ann")
        try world.device("d0", user: "dan")
        try world.rule("chat", event: "message", to: Self.to(Self.others))
        let event = try world.emit("message", #"{"conversation_id": 1, "sender": "ann"}"#)
        let alone = try world.emit("message", #"{"conversation_id": 2, "sender": "dan"}"#)
        try world.plan()
        #expect(try world.fate(event) == "waiting")
        #expect(try world.detail(event) == "waits for users_sql of rule chat")
        #expect(try world.connection.text("SELECT fanfare.cancel(0), fanfare.cancel('message', 'none')") == "f")
        try ask()
        #expect(try world.recipients(event) == [bob] + cid, "cid, who is in there twice, counts once")
        #expect(try world.fate(event) == "planned")
        #expect(try world.detail(event) == nil)
        #expect(try world.recipients(alone).isEmpty)
        #expect(try world.detail(alone) == "rule chat: to.users_sql finds no user")
        #expect(try waiting() == 0)
    }

    @Test func numbersAndFiltersAndGates() throws {
        let gold = try world.device("a0", user: "2", #"attributes => '{"tier": "gold"}'"#)
        let plain = try world.device("a1", user: "2")
        let voip = try world.device("a2", user: "2", "kind => 'voip'")
        let android = try world.device("android", user: "2", provider: "fcm")
        let gone = try world.device("a3", user: "2")
        _ = try world.connection.query("SELECT fanfare.unregister_device('shop', 'apns', 'a3'), $1", "\(gone)")
        _ = try world.connection.query("SELECT fanfare.register_device('other', 'apns', 'a4', '2')")
        let sql = "SELECT number FROM public.members WHERE user_id = $1->>'u'"
        for (n, more, expected) in [
            (1, "", [gold, plain, android]), (2, #", "devices": "$.tier == \"gold\"""#, [gold]),
            (3, #", "provider": "apns""#, [gold, plain]), (4, #", "kind": "voip""#, [voip]),
        ] {
            let version = try world.rule("r\(n)", event: "e\(n)", to: Self.to(sql, more), #""lane": "bulk""#)
            try world.connection.execute(
                "UPDATE fanfare.rule_versions SET gate_id = fanfare.make_gate(rule_id) WHERE id = \(version)"
            )
            let event = try world.emit("e\(n)", #"{"u": "bob"}"#)
            try ask()
            #expect(try world.recipients(event) == expected, "\(more)")
        }
        let ungated = "SELECT count(*) FROM fanfare.batches WHERE gate_id = 0 OR lane <> 2"
        #expect(try world.connection.number(ungated) == 0)
    }

    @Test func aHundredThousandUsersAndNoMore() throws {
        let own = try world.devices(1500, user: "7")
        try world.device("1a57", user: "100000")
        try world.rule("r", event: "e", to: Self.to("SELECT g FROM generate_series(1, ($1->>'n')::int) AS g"))
        let most = try world.emit("e", #"{"n": 100000}"#)
        let more = try world.emit("e", #"{"n": 100001}"#)
        try askUntilRefused()
        #expect(try world.recipients(most).count == own.count + 1)
        #expect(try world.connection.number("SELECT max(cardinality(device_ids)) FROM fanfare.batches") == 1000)
        #expect(try world.fate(more) == "refused")
        #expect(
            try world.detail(more) == "rule r: to.users_sql returns more than 100000 users (SQLSTATE 54000)"
        )
    }

    /// Errors that PostgreSQL reports only when the query runs.
    private static let failures = [
        ("SELECT nullif(user_id, 'bob') FROM public.members", "returns null for a user (SQLSTATE 22004)"),
        ("SELECT public.add_member()", "cannot execute INSERT in a read-only transaction (SQLSTATE 25006)"),
        ("SELECT public.raise()", "not today (SQLSTATE P0001)"),
        ("SELECT user_id FROM public.gone", #"relation "public.gone" does not exist (SQLSTATE 42P01)"#),
        ("SELECT * FROM public.wider", "subquery must return only one column (SQLSTATE 42601)"),
        ("SELECT user_id FROM public.secret", "permission denied for table secret (SQLSTATE 42501)"),
        (
            "SELECT user_id FROM public.members WHERE number = ($1->>'u')::int",
            #"invalid input syntax for type integer: "ann" (SQLSTATE 22P02)"#
        ),
    ]

    @Test func whatFailsCostsItsOwnEventsOnlyAfterThreeTries() throws {
        try world.connection.execute(
            """
            CREATE FUNCTION public.add_member() RETURNS text LANGUAGE sql AS
                'INSERT INTO public.members VALUES (3, ''eve'', 5) RETURNING user_id';
            CREATE FUNCTION public.raise() RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not today''; END';
            CREATE TABLE public.gone (user_id text); CREATE TABLE public.wider (user_id text);
            CREATE TABLE public.secret (user_id text);
            GRANT SELECT ON public.gone, public.wider TO fanfare_sql;
            """
        )
        for (n, failure) in Self.failures.enumerated() {
            try world.rule("r\(n)", event: "e", to: Self.to(failure.0))
        }
        let ann = try world.device("a0", user: "ann")
        try world.rule("good", event: "e", to: Self.to("SELECT $1->>'u'"))
        try world.connection.execute("DROP TABLE public.gone; ALTER TABLE public.wider ADD COLUMN more int")
        let event = try world.emit("e", #"{"u": "ann"}"#)
        try ask()
        #expect(try world.recipients(event) == [ann], "of the rule that comes last")
        #expect(try world.connection.column("SELECT DISTINCT tries FROM fanfare.audience_queries") == ["1"])
        let pause = "SELECT count(*) FROM fanfare.audience_queries WHERE not_before > now() + interval '0.5 s'"
        #expect(try world.connection.number(pause) > 0)
        let health = "SELECT count(*) FROM fanfare.health WHERE name LIKE 'users_sql: shop/r%' AND NOT ok"
        #expect(try world.connection.number(health) == Int64(Self.failures.count))
        #expect(try world.detail(event)?.contains("which failed: returns null for a user") == true)
        try askUntilRefused()
        #expect(try waiting() == 0)
        #expect(try world.fate(event) == "refused")
        let detail = try world.detail(event) ?? ""
        for (n, failure) in Self.failures.enumerated() {
            #expect(detail.contains("rule r\(n): to.users_sql \(failure.1)"), "\(detail)")
        }
        #expect(try world.connection.number("SELECT count(*) FROM public.members") == 5, "nothing is written")
        // A rule whose query works again is healthy again.
        try world.connection.execute("GRANT SELECT ON public.secret TO fanfare_sql")
        try world.emit("e", #"{"u": "ann"}"#)
        try ask()
        let well = "SELECT count(*) FROM fanfare.health WHERE name = 'users_sql: shop/r5'"
        #expect(try world.connection.number(well) == 0)
    }

    @Test func aQueryThatIsSlowIsAskedApartAndRefusedInTheEnd() throws {
        try world.rule("r", event: "e", to: Self.to("SELECT pg_sleep(60)::text"))
        let event = try world.emit("e")
        try world.plan()
        #expect(try !slowRunner.takeTurn(on: world.connection), "nothing is known to be slow")
        #expect(try runner.takeTurn(on: world.connection))
        for _ in QueryRunner.pauses {
            try world.connection.execute("UPDATE fanfare.audience_queries SET not_before = now()")
            #expect(try !runner.takeTurn(on: world.connection))
            #expect(try runner.wait(on: world.connection) == nil)
            #expect(try slowRunner.takeTurn(on: world.connection))
        }
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event) == "rule r: to.users_sql takes longer than 2 s")
    }

    @Test func anEventThatCannotBePlannedStopsNobody() throws {
        try world.device("a0", user: "ann")
        for name in ["r", "s"] { try world.rule(name, event: "e", to: Self.to("SELECT 'ann' -- \(name)")) }
        let event = try world.emit("e")
        try world.plan()
        try world.connection.execute(
            """
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION ''no'' USING ERRCODE = ''22000''; END';
            CREATE TRIGGER refuse BEFORE INSERT ON fanfare.batches FOR EACH ROW WHEN (NEW.rule_version = 1)
            EXECUTE FUNCTION public.refuse()
            """
        )
        try ask()
        #expect(try waiting() == 0)
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event) == "cannot be planned: SQLSTATE 22000, no")
        #expect(try world.recipients(event).count == 1)
    }

    @Test func cancelledAndLateEventsAreForNobody() throws {
        try world.device("b0", user: "bob")
        try world.rule("chat", event: "message", to: Self.to(Self.others))
        let payload = #"{"conversation_id": 1, "sender": "ann"}"#
        let cancelled = try world.emit("message", payload)
        let withdrawn = try world.emit("message", payload, key: "k")
        let late = try world.emit("message", payload, ttl: "1 hour")
        try world.plan()
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(cancelled)") == "t")
        #expect(try world.connection.text("SELECT fanfare.cancel('message', 'k')") == "t")
        try world.connection.execute(
            "UPDATE fanfare.event_log SET created_at = created_at - interval '2 h' WHERE id = \(late)"
        )
        try ask()
        #expect(try world.fate(cancelled) == "cancelled")
        #expect(try world.fate(withdrawn) == "cancelled")
        #expect(try world.fate(late) == "expired")
        #expect(try world.detail(late) == "rule chat: its ttl was over before users_sql answered")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 0)
        #expect(try waiting() == 0)
    }

    /// Two daemons, one of them in a query.
    @Test func rulesTakeTurnsAndAnEventIsOneDesksAtATime() throws {
        for name in ["first", "second"] { try world.rule(name, event: "e", to: Self.to("SELECT 'ann' -- \(name)")) }
        let ann = try world.device("a0", user: "ann")
        let events = try (0..<3).map { _ in try world.emit("e") }
        try world.plan()
        let choice = QueryCosts().choice(isForSlow: false)
        let others = try (0..<3).map { _ in try World().connection }
        var taken: [AudienceQuestion] = []
        for other in others {
            try other.execute("BEGIN")
            taken += try other.run(SQL.lockQuestion(choice, taken.last?.ruleVersion ?? 0))
        }
        #expect(taken.map(\.ruleVersion) == [taken[0].ruleVersion, taken[1].ruleVersion, taken[0].ruleVersion])
        #expect(taken[0].ruleVersion < taken[1].ruleVersion)
        #expect(taken.map(\.eventID) == [events[0], events[0], events[1]])
        try ask()
        #expect(try waiting() == 3, "what the others have stays")
        // On a busy machine a query may have been slow.
        #expect(try [runner, slowRunner].contains { try $0.wait(on: world.connection) ?? 0 < 0 }, "and is due")
        for other in others { try other.execute("ROLLBACK") }
        try ask()
        for event in events { #expect(try world.recipients(event) == [ann, ann], "once for each rule") }
        #expect(try runner.wait(on: world.connection) == nil)
    }

    @Test func aSlowQueryIsForTheOtherDeskForAWhile() {
        let costs = QueryCosts()
        #expect(!costs.took(QueryCosts.slowness - 1, ruleVersion: 1, at: 0))
        #expect(costs.took(QueryCosts.slowness, ruleVersion: 2, at: 0))
        #expect(!costs.took(QueryCosts.slowness, ruleVersion: 2, at: 10), "that is known")
        let end = 10 + QueryCosts.memory
        for isForSlow in [false, true] {
            let choice = costs.choice(isForSlow: isForSlow, at: end - 1)
            #expect(choice == QueryChoice(ruleVersions: [2], areTaken: isForSlow))
        }
        #expect(costs.choice(isForSlow: true, at: end).ruleVersions.isEmpty)
    }
}
