import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Campaigns whose audience or payload comes from a query: it runs when they fire, and its rows are used completely or
/// not at all.
@Suite(.database, .timeLimit(.minutes(3)))
struct CampaignQueryTests {
    private static let message = #""message": {"notification": {"title": "Hi {{recipient.first_name}}"}}"#
    /// The sessions on which campaigns' queries run.
    private static let sessions = """
        FROM pg_stat_activity WHERE application_name = 'fanfare campaign-query' AND datname = current_database()
        """
    /// The number of rows of the query that fails late; a soak run has as many as a real campaign.
    private static let many = Soak.choose(50_000, soak: 1_000_000)

    private func world(_ audience: String, _ more: String = message) throws -> World {
        let world = try World()
        for user in ["7", "ann", "bob"] { try world.devices(2, user: user) }
        try world.connection.execute(
            """
            CREATE TABLE public.lapsed (id text, first_name text);
            INSERT INTO public.lapsed VALUES ('7', 'Seven'), ('ann', 'Ann'), ('ann', 'Anna'), ('nobody', 'N');
            CREATE TABLE public.sleepy (seconds float8); INSERT INTO public.sleepy VALUES (30);
            CREATE FUNCTION public.slow() RETURNS text LANGUAGE sql SECURITY DEFINER AS
                'SELECT ''ann'' FROM (SELECT seconds FROM public.sleepy OFFSET 0) AS s CROSS JOIN LATERAL pg_sleep(s.seconds)';
            CREATE FUNCTION public.scribble() RETURNS text LANGUAGE sql SECURITY DEFINER AS
                'INSERT INTO public.lapsed VALUES (''x'') RETURNING id';
            GRANT SELECT ON public.lapsed TO fanfare_sql;
            CREATE TABLE public.unread (id text);
            """
        )
        try world.put(campaign: "c", queries: #""audience_sql": "\#(audience)", \#(more)"#)
        try world.schedule()
        return world
    }

    /// Returns the rows stored for a campaign whose query failed.
    private func leftovers(_ world: World) throws -> [String] {
        try world.connection.column(
            """
            SELECT count(*)::text FROM fanfare.audiences UNION ALL SELECT count(*)::text FROM fanfare.outbox
            UNION ALL SELECT count(*)::text FROM fanfare.events UNION ALL SELECT count(*)::text FROM fanfare.gates
            WHERE run_id IS NOT NULL AND state <> 'done'
            """
        )
    }

    @Test func eachUserIsReachedOnceAndHearsItsOwn() throws {
        let world = try self.world("SELECT id, jsonb_build_object('first_name', first_name) FROM public.lapsed")
        try world.start("c")
        #expect(try world.states("c") == ["querying"])
        #expect(try leftovers(world) == ["0", "0", "0", "1"], "it has its gate, and no event")
        try world.read()
        #expect(try world.states("c") == ["running"])
        #expect(
            try world.connection.column("SELECT user_id || ' ' || variables FROM fanfare.audiences ORDER BY user_id")
                == [
                    #"7 {"first_name": "Seven"}"#, #"ann {"first_name": "Ann"}"#, #"nobody {"first_name": "N"}"#,
                ]
        )
        try world.plan()
        let event = try world.connection.number("SELECT event_id FROM fanfare.runs")
        #expect(try world.recipients(event).count == 4, "two users, two devices each")
        #expect(try world.connection.number("SELECT planned FROM fanfare.runs") == 4)
        let gate = try Int32(world.connection.number("SELECT gate_id FROM fanfare.runs"))
        let prepared = try world.prepare(try world.claim(gates: [gate]))
        let bodies = prepared.flatMap(\.batch.variants).map { String(decoding: $0.content.body.prefix, as: UTF8.self) }
        #expect(bodies.count == 4 && bodies.filter { $0.contains("Hi Seven") }.count == 2, "\(bodies)")
        #expect(bodies.filter { $0.contains("Hi Ann\"") }.count == 2)
        let exported = try world.connection.text(
            "SELECT jsonb_path_query_array(fanfare.export_user('shop', 'ann'), '$.audiences[*].variables')::text"
        )
        #expect(exported == #"[{"first_name": "Ann"}]"#)
        try world.connection.execute("SELECT fanfare.forget_user('shop', 'ann')")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.audiences WHERE user_id = 'ann'") == 0)
        _ = try world.connection.runReturningCount(SQL.forgetAudiences())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.audiences") == 2, "it is running")
        try world.connection.execute("DELETE FROM fanfare.batches")
        try world.schedule()
        #expect(try world.states("c") == ["done"])
        _ = try world.connection.runReturningCount(SQL.forgetAudiences())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.audiences") == 0)
    }

    @Test(arguments: [
        ("SELECT public.scribble()", "25006: cannot execute INSERT in a read-only transaction"),
        ("SELECT public.slow()", "57014: the query took longer than it may"),
        ("SELECT id FROM public.lapsed UNION ALL SELECT NULL", "22004: audience_sql gives NULL for a user"),
        ("SELECT id, '[1]'::jsonb FROM public.lapsed", "22023: audience_sql gives something else than a JSON object"),
        (
            "SELECT id, jsonb_build_object('a', repeat('x', 5000)) FROM public.lapsed",
            "54000: audience_sql gives more than"
        ),
        (
            "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 400) AS g",
            "54000: audience_sql gives a user's id of more than"
        ),
        ("SELECT (1 / (length(id) - 1))::text FROM public.lapsed", "22012: division by zero"),
        ("SELECT id FROM public.unread", "42501: permission denied for table unread"),
    ])
    func aQueryThatFailsSendsNothingAndSaysWhy(sql: String, reason: String) throws {
        let world = try self.world(sql)
        try world.start("c")
        try world.read(patience: 500 * Micros.millisecond)
        #expect(try world.states("c") == ["failed"])
        let detail = try world.connection.text("SELECT detail FROM fanfare.runs")
        #expect(detail?.hasPrefix(reason) == true, "\(detail ?? "none")")
        #expect(try leftovers(world) == ["0", "0", "0", "0"])
        let health = try world.connection.text(
            "SELECT ok || ' ' || detail FROM fanfare.health WHERE name = 'campaigns'"
        )
        #expect(health == "false no rejected versions, 1 failed runs in the last day")
        #expect(try world.campaign("c", "state") == "active", "the schedule goes on")
    }

    @Test func whatFailsLateUndoesAllThatCameBefore() throws {
        let world = try self.world("SELECT g::text, '{}'::jsonb FROM generate_series(1, \(Self.many)) AS g")
        // The failing rows are near the end of the result, because users are read in the order of their buckets.
        let end = Self.many / QueryRows.users - 1
        try world.connection.execute(
            """
            CREATE SEQUENCE public.bits; GRANT USAGE ON SEQUENCE public.bits TO fanfare_daemon;
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN IF nextval(''public.bits'') = \(end) THEN RAISE EXCEPTION ''no more''; END IF; RETURN NULL; END';
            CREATE TRIGGER fail AFTER INSERT ON fanfare.audiences FOR EACH STATEMENT EXECUTE FUNCTION public.fail();
            """
        )
        try world.start("c")
        try world.read()
        #expect(try world.states("c") == ["failed"])
        #expect(try world.connection.text("SELECT detail FROM fanfare.runs") == "P0001: no more")
        #expect(try world.connection.number("SELECT last_value FROM public.bits") == Int64(end))
        #expect(try leftovers(world) == ["0", "0", "0", "0"])
        try world.start("c")
        try world.read()
        #expect(try world.states("c") == ["failed", "running"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.audiences") == Int64(Self.many))
    }

    @Test func aLostSessionIsTriedAgainByWhoeverComes() throws {
        let world = try self.world("SELECT public.slow()")
        try world.start("c")
        let query = Self.sessions
        try world.read { world in
            try world.connection.waitUntil("SELECT count(*) = 1 \(query) AND state = 'active' AND query LIKE 'FETCH%'")
            try world.connection.execute("SELECT pg_terminate_backend(pid) \(query)")
            try world.connection.waitUntil("SELECT owner IS NULL AND read_at IS NOT NULL FROM fanfare.runs")
        }
        #expect(try world.states("c") == ["querying"])
        #expect(try world.connection.text("SELECT left(detail, 5) FROM fanfare.runs") == "57P01")
        #expect(
            try world.connection.text(
                "SELECT read_at BETWEEN now() + interval '20 s' AND now() + interval '40 s' FROM fanfare.runs"
            )
                == "t"
        )
        #expect(try leftovers(world) == ["0", "0", "0", "1"])
        try world.connection.execute(
            "UPDATE fanfare.runs SET read_at = now(); UPDATE public.sleepy SET seconds = 0"
        )
        try world.read(owner: 2) { try $0.connection.waitUntil("SELECT state = 'running' FROM fanfare.runs") }
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.deliveries") == 2)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.events") == 1)
    }

    @Test func beyondItsTtlItIsNotTriedAgain() throws {
        let world = try self.world("SELECT public.slow()", #""ttl": "20s", \#(Self.message)"#)
        try world.start("c")
        try world.read { world in
            let query = Self.sessions
            try world.connection.waitUntil("SELECT count(*) = 1 \(query) AND state = 'active' AND query LIKE 'FETCH%'")
            try world.connection.execute("SELECT pg_terminate_backend(pid) \(query)")
            try world.connection.waitUntil("SELECT state = 'failed' FROM fanfare.runs")
        }
        #expect(try leftovers(world) == ["0", "0", "0", "0"])
    }

    @Test func abortedWhileItIsReadItEndsAtOnce() throws {
        let world = try self.world("SELECT public.slow()")
        try world.start("c")
        let query = Self.sessions + " AND state = 'active'"
        try world.read { world in
            try world.connection.waitUntil("SELECT count(*) = 1 \(query) AND query LIKE 'FETCH%'")
            #expect(try world.tell("c", "abort"))
            #expect(try world.states("c") == ["aborted"])
            // The query is cancelled on the server too.
            try world.connection.waitUntil("SELECT count(*) = 0 \(query)", seconds: 60)
            #expect(try leftovers(world) == ["0", "0", "0", "0"])
            // The query runner is free for the next campaign.
            try world.connection.execute("UPDATE public.sleepy SET seconds = 0")
            try world.start("c")
            try world.connection.waitUntil("SELECT bool_or(state = 'running') FROM fanfare.runs")
        }
    }

    @Test func pausedWhileItIsReadItWaitsBehindItsGate() throws {
        let world = try self.world("SELECT id FROM public.lapsed", #""message": {"notification": {"title": "T"}}"#)
        try world.start("c")
        #expect(try world.tell("c", "pause"))
        try world.read()
        try world.plan()
        let gate = try Int32(world.connection.number("SELECT gate_id FROM fanfare.runs"))
        #expect(try world.claim(gates: [gate]).isEmpty)
        #expect(try world.tell("c", "resume"))
        #expect(try world.claim(gates: [gate]).flatMap(\.deviceIDs).count == 4)
    }

    @Test func whoeverIsNotTheOwnerAnyMoreStoresNothing() throws {
        let world = try self.world("SELECT public.slow()")
        try world.start("c")
        // The first session is the one that runs the query.
        try world.connection.execute(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            SELECT 'daemon', 'h', n, 'v', now() + interval '1 h', version
            FROM fanfare.schema_version CROSS JOIN generate_series(1, 2) AS n
            """
        )
        let query = Self.sessions + " AND state = 'active'"
        try world.read { world in
            try world.connection.waitUntil("SELECT count(*) = 1 \(query) AND query LIKE 'FETCH%'")
            // As if this daemon had been suspended until another one took over.
            try world.connection.execute("UPDATE fanfare.runs SET owner = 2 WHERE owner = 1")
            try world.connection.waitUntil("SELECT count(*) = 0 \(query)")
        }
        #expect(try world.states("c") == ["querying"])
        #expect(try world.connection.number("SELECT owner FROM fanfare.runs") == 2)
        #expect(try leftovers(world) == ["0", "0", "0", "1"])
    }

    @Test func anEventThatSomebodyElseEmittedReachesNobody() throws {
        let world = try self.world("SELECT id FROM public.lapsed", #""message": {"notification": {"title": "T"}}"#)
        let insert = "INSERT INTO fanfare.outbox (type, payload) VALUES ('campaign.shop.c', '{}') RETURNING id"
        let event = try world.connection.number(insert)
        try world.plan()
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event)?.hasSuffix("start it by fanfare.start_campaign") == true)
        #expect(try world.recipients(event).isEmpty)
    }

    /// `emit` rejects such a type at once; for a direct insert, the planner rejects it.
    @Test(arguments: ["campaign.shop.c", "campaign-test.shop.c", "digest.shop.r", "send.shop"])
    func typesOfFanfaresOwnAreForNobodyElse(type: String) throws {
        let world = try self.world("SELECT id FROM public.lapsed")
        try world.connection.execute("SET ROLE fanfare_emitter")
        let refusal = world.connection.refusal("SELECT fanfare.emit('\(type)')")
        #expect(refusal?.sqlState == "22023" && refusal?.hint?.isEmpty == false)
        let own = "INSERT INTO fanfare.outbox (type, payload, own) VALUES ('\(type)', '{}', true)"
        #expect(world.connection.refusal(own)?.sqlState == "42501")
        let insert = "INSERT INTO fanfare.outbox (type, payload) VALUES ('\(type)', '{}') RETURNING id"
        let event = try world.connection.number(insert)
        try world.connection.execute("RESET ROLE")
        try world.plan()
        #expect(try world.fate(event) == "refused")
        #expect(try world.detail(event) == "events of this type are emitted by Fanfare only")
        try world.connection.execute("SET ROLE fanfare_emitter")
        let slow = try world.connection.number(insert)
        try world.connection.execute("RESET ROLE")
        try world.quarantined(1)
        try world.plan()
        #expect(try world.fate(slow) == "refused", "it is as foreign in the quarantine")
        try world.connection.execute("CREATE TABLE public.watched (id int PRIMARY KEY)")
        let watch = world.connection.refusal("SELECT fanfare.watch_table('public.watched', '\(type)')")
        #expect(watch?.message.contains("Fanfare only") == true)
    }

    /// A daemon of the previous version inserts the events of a campaign's query without marking them as Fanfare's own.
    @Test func whatAnOlderDaemonEmitsIsFanfaresOwn() throws {
        let world = try self.world("SELECT id FROM public.lapsed")
        let insert = "INSERT INTO fanfare.outbox (type, payload) VALUES ('digest.shop.r', '{}') RETURNING id"
        try world.connection.execute("SET ROLE fanfare_daemon")
        let event = try world.connection.number(insert)
        // Any role may notify on a foreign channel.
        try world.connection.run(SQL.storeForeignEvent("digest.shop.s", "{}"))
        try world.connection.execute("RESET ROLE")
        try world.plan()
        #expect(try world.fate(event) == "unmatched", "no rule matched")
        let detail = "SELECT detail FROM fanfare.events WHERE type = 'digest.shop.s'"
        #expect(try world.connection.column(detail) == ["events of this type are emitted by Fanfare only"])
    }

    @Test func whoTriesItGetsTheirOwnRow() throws {
        let world = try self.world("SELECT id, jsonb_build_object('first_name', first_name) FROM public.lapsed")
        let event = try world.connection.number("SELECT fanfare.test_campaign('shop', 'c', '{ann,bob}')")
        try world.read()
        try world.schedule()
        #expect(try world.connection.column("SELECT user_id FROM fanfare.audiences") == ["ann"])
        try world.plan()
        #expect(try world.recipients(event).count == 4)
        let prepared = try world.prepare(try world.claim())
        let bodies = prepared.flatMap(\.batch.variants).map { String(decoding: $0.content.body.prefix, as: UTF8.self) }
        #expect(bodies.filter { $0.contains("Hi Ann") }.count == 2)
        #expect(prepared.flatMap(\.decided).map(\.outcome) == [.refused, .refused], "nothing is known of bob's name")
        #expect(
            try world.connection.text("SELECT fanfare.start_campaign('shop', 'c') IS NOT NULL") == "t",
            "it does not run"
        )
    }

    @Test func eachRowOfPayloadsIsAnEvent() throws {
        let world = try World()
        for user in ["ann", "bob"] { try world.devices(1, user: user) }
        let sql =
            "SELECT jsonb_build_object('user_id', u, 'n', n) FROM (VALUES ('ann', 1), ('bob', 2), ('ann', 3)) AS v (u, n)"
        let more =
            #""payload_sql": "\#(sql)", "to": {"users": "$.user_id"}, "payload": {"sale": "winter"}, "message": {"notification": {"title": "{{n}} {{sale}}"}}"#
        try world.put(campaign: "p", queries: more)
        try world.schedule()
        try world.start("p")
        try world.read()
        #expect(try world.states("p") == ["running"])
        let keys = try world.connection.column(
            "SELECT substring(o.key FROM '/.*') || ' ' || (o.payload - 'scheduled_at')::text FROM fanfare.outbox AS o ORDER BY o.id"
        )
        #expect(
            keys.first == #"/1 {"n": 1, "sale": "winter", "user_id": "ann", "campaign": "p"}"# && keys.count == 3,
            "\(keys)"
        )
        try world.schedule()
        #expect(try world.states("p") == ["running"], "they are to be planned")
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.deliveries") == 3)
        try world.schedule()
        #expect(try world.states("p") == ["running"], "they are to be sent")
        let gate = try Int32(world.connection.number("SELECT id FROM fanfare.gates"))
        #expect(try world.tell("p", "abort"))
        #expect(try !world.sweep(gate).isEmpty)
        try world.schedule()
        #expect(try world.states("p") == ["aborted"])
        #expect(try world.connection.column("SELECT DISTINCT outcome FROM fanfare.deliveries") == ["cancelled"])
    }

    @Test func byRecipientsTimeEachUserComesWhereTheyAre() throws {
        let world = try World()
        try world.device("aa" + String(repeating: "0", count: 62), user: "ann", "time_zone => 'Asia/Tokyo'")
        try world.device("bb" + String(repeating: "0", count: 62), user: "bob", "time_zone => 'America/Bogota'")
        try world.put(
            campaign: "r",
            queries:
                #""audience_sql": "SELECT u FROM (VALUES ('ann'), ('bob')) AS v (u)", "schedule": {"cron": "0 9 * * *", "time_zone": "recipient"}, "message": {"notification": {"title": "T"}}"#
        )
        try world.schedule()
        try world.missed("r", "1 day")
        try world.schedule()
        try world.read()
        try world.plan()
        #expect(
            try world.connection.column(
                "SELECT to_char(due_at AT TIME ZONE 'UTC', 'HH24:MI') FROM fanfare.batches ORDER BY due_at"
            )
                == ["00:00", "14:00"]
        )
    }

    @Test(arguments: [#"{"share": "20%"}"#, #"{"devices": 12}"#])
    func aFewOfThoseThatItGivesGoFirst(canary: String) throws {
        let world = try World()
        for user in 0..<60 { try world.devices(2, user: "u\(user)") }
        let sql = "SELECT 'u' || g FROM generate_series(0, 59) AS g"
        let more = #""canary": \#(canary), "message": {"notification": {"title": "T"}}"#
        try world.put(campaign: "few", queries: #""audience_sql": "\#(sql)", \#(more)"#)
        try world.schedule()
        try world.start("few")
        try world.read()
        try world.plan()
        let counts = try world.connection.column(
            """
            SELECT count(*) FROM fanfare.batches AS b CROSS JOIN unnest(b.device_ids) AS d
            JOIN fanfare.gates AS g ON g.id = b.gate_id GROUP BY g.id, g.state ORDER BY g.state = 'held'
            """
        ).compactMap { Int($0) }
        #expect(counts.count == 2 && counts.reduce(0, +) == 120 && counts[0] < counts[1], "\(counts)")
        #expect(try world.connection.number("SELECT planned FROM fanfare.runs") == 120)
    }

    @Test func aSliceEndsBetweenUsers() throws {
        let world = try self.world("SELECT 1")
        try world.connection.execute(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, kind, token, token_hash, user_id)
            SELECT d.app_id, d.target_id, d.provider, d.kind, 't' || g, sha256(('t' || g)::bytea), 'm' || g
            FROM fanfare.devices AS d, generate_series(1, 45000) AS g WHERE d.id = (SELECT min(id) FROM fanfare.devices);
            """
        )
        try world.put(
            campaign: "m",
            queries:
                #""audience_sql": "SELECT 'm' || g FROM generate_series(1, 45000) AS g", "message": {"notification": {"title": "T"}}"#
        )
        try world.schedule()
        try world.start("m")
        try world.read()
        try world.plan()
        #expect(
            try world.connection.text(
                """
                SELECT count(*) || ' ' || count(DISTINCT d) FROM fanfare.batches AS b, unnest(b.device_ids) AS d
                """
            ) == "45000 45000"
        )
        #expect(try world.connection.number("SELECT planned FROM fanfare.runs WHERE state = 'running'") == 45000)
    }
}

extension World {
    /// Stores a campaign of app `shop` with the given members.
    fileprivate func put(campaign name: String, queries members: String) throws {
        _ = try connection.query(
            "SELECT fanfare.put_campaign($1::jsonb)",
            #"{"app": "shop", "name": "\#(name)", \#(members)}"#
        )
    }
}
