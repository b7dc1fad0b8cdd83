import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events for later: `emit_at`, `reschedule`, `cancel`, and the scheduler that emits them.
@Suite(.database)
struct ScheduledEventTests {
    /// Makes rows due, and emits what is due.
    private func emitDue(_ world: World, _ ids: [Int64]? = nil) throws {
        let chosen = ids.map { "WHERE id IN (\($0.map(String.init).joined(separator: ", ")))" } ?? ""
        try world.connection.execute("UPDATE fanfare.scheduled SET at = now() \(chosen)")
        let now = Timestamp(microseconds: try world.microseconds("now"))
        while try world.scheduler().emitScheduled(on: world.connection, at: now) == 0 {}
    }

    private func emitAt(_ world: World, _ arguments: String) throws -> Int64 {
        try world.connection.number("SELECT fanfare.emit_at(\(arguments))")
    }

    /// `emit` is what applications call most: neither its forms nor its body change.
    @Test(arguments: [
        "'t'", "'t', '{}'", "'t', '{}', 'k'", "'t', '{}', 'k', '1 h'", "type => 't'", "'t', key => 'k'",
        "'t', ttl => '1 h'",
        "'t', payload => '{}', ttl => '1 h'", "type => 't', payload => '{}', key => 'k', ttl => '1 h'",
        "'t', NULL::jsonb || '{}'",
    ])
    func everyFormOfEmitStays(arguments: String) throws {
        let world = try World()
        if arguments.contains("NULL") {
            #expect(throws: PostgresError.self) { try world.connection.query("SELECT fanfare.emit(\(arguments))") }
        } else {
            #expect(try world.connection.number("SELECT fanfare.emit(\(arguments))") > 1 << 43)
        }
    }

    @Test func theBodyOfEmitStays() throws {
        let world = try World()
        let body =
            "SELECT md5(prosrc) || ' ' || count(*) OVER () FROM pg_proc WHERE proname = 'emit' AND pronamespace = 'fanfare'::regnamespace"
        #expect(try world.connection.column(body) == ["cec63a97310f5ae9166b70d91d86a096 1"])
    }

    @Test func anEventIsEmittedWhenItIsDue() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("order", event: "order", to: #"{"users": "$.u"}"#)
        let soon = try emitAt(world, "'order', now() + interval '1 h', '{\"u\": \"ann\"}', 'k', '10 min'")
        let now = Timestamp(microseconds: try world.microseconds("now"))
        #expect(try world.scheduler().emitScheduled(on: world.connection, at: now) == Scheduler.longestWait)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
        #expect(
            try world.connection.text(
                "SELECT outcome || ' ' || reason FROM fanfare.why($1::bigint, 'ann')",
                String(soon)
            )
                == "waiting scheduled"
        )
        try world.connection.execute("UPDATE fanfare.scheduled SET at = now() - interval '5 min'")
        try emitDueNow(world)
        try world.plan()
        let event = try world.connection.number("SELECT fanfare.event_of($1::bigint)", String(soon))
        #expect(event > 1 << 43)
        #expect(try world.recipients(event).count == 1)
        let row =
            "SELECT concat_ws(' ', type, key, ttl = '10 min', created_at < now() - interval '4 min', payload) FROM fanfare.event_log WHERE id = $1::bigint"
        #expect(try world.connection.text(row, String(event)) == #"order k t t {"u": "ann"}"#)
        // Either id finds it.
        for id in [soon, event] {
            let why = "SELECT count(*) FROM fanfare.why($1::bigint, 'ann') WHERE device_id IS NOT NULL"
            #expect(try world.connection.number(why, String(id)) > 0)
        }
        // The ttl runs from when the event was due.
        let late = try emitAt(world, "'order', now() - interval '2 h', '{\"u\": \"ann\"}', NULL, '1 h'")
        try emitDueNow(world)
        try world.plan()
        #expect(
            try world.fate(world.connection.number("SELECT fanfare.event_of($1::bigint)", String(late))) == "expired"
        )
    }

    private func emitDueNow(_ world: World) throws {
        let now = Timestamp(microseconds: try world.microseconds("now"))
        while try world.scheduler().emitScheduled(on: world.connection, at: now) == 0 {}
    }

    @Test func aKeyIsUniqueWhileItsEventWaits() throws {
        let world = try World()
        let first = try emitAt(world, "'r', now() + interval '1 h', '{\"n\": 1}', 'appointment-7'")
        let error = #expect(throws: PostgresError.self) {
            try emitAt(world, "'r', now() + interval '2 h', '{\"n\": 2}', 'appointment-7'")
        }
        #expect(error?.sqlState == "23505")
        #expect(error?.hint?.contains("replace => true") == true)
        _ = try emitAt(world, "'other', now() + interval '2 h', '{}', 'appointment-7'")
        #expect(
            try emitAt(world, "'r', now() + interval '2 h', '{\"n\": 3}', 'appointment-7', replace => true") == first
        )
        let waiting =
            "SELECT (payload ->> 'n') || ' ' || (at > now() + interval '119 min') FROM fanfare.scheduled WHERE type = 'r'"
        #expect(try world.connection.column(waiting) == ["3 true"])
        try emitDue(world)
        // The key was used: a later event with it is told of, and will be a duplicate.
        _ = try emitAt(world, "'r', now() + interval '2 h', '{\"n\": 4}', 'appointment-7'")
        try world.plan()
        try emitDue(world)
        try world.plan()
        let fates = "SELECT fate FROM fanfare.events WHERE type = 'r' ORDER BY id"
        #expect(try world.connection.column(fates) == ["unmatched", "duplicate"])
    }

    @Test func anEventIsMovedAndCancelledByEitherIdOrKey() throws {
        let world = try World()
        let ids = try (1...6).map { try emitAt(world, "'r', now() + interval '1 h', '{\"n\": \($0)}', 'k\($0)'") }
        let c = world.connection
        #expect(try c.text("SELECT fanfare.reschedule($1::bigint, now() + interval '3 h')", String(ids[0])) == "t")
        #expect(try c.text("SELECT fanfare.reschedule('r', 'k2', now() + interval '4 h', '{\"n\": 20}')") == "t")
        #expect(try c.text("SELECT fanfare.reschedule('r', 'none', now())") == "f")
        #expect(
            try c.column(
                "SELECT (payload ->> 'n') || ' ' || round(extract(epoch FROM at - now()) / 3600) FROM fanfare.scheduled WHERE at > now() + interval '2 h' ORDER BY at"
            )
                == ["1 3", "20 4"]
        )
        #expect(try c.text("SELECT fanfare.cancel($1::bigint)", String(ids[0])) == "t")
        #expect(try c.text("SELECT fanfare.cancel($1::bigint)", String(ids[0])) == "f")
        #expect(try c.text("SELECT fanfare.cancel('r', 'k2')") == "t")
        #expect(try c.text("SELECT fanfare.cancel('r', 'k2')") == "f")
        #expect(try c.number("SELECT fanfare.cancel_events(ARRAY[\(ids[2]), \(ids[2]), \(ids[3]), 77])") == 3)
        try emitDue(world, [ids[4], ids[5]])
        // They are events now, and are stopped as such: one by the id of its row, one by its key.
        #expect(try c.text("SELECT fanfare.reschedule($1::bigint, now())", String(ids[4])) == "f")
        #expect(try c.text("SELECT fanfare.cancel($1::bigint)", String(ids[4])) == "t")
        #expect(try c.text("SELECT fanfare.cancel('r', 'k6')") == "t")
        try world.plan()
        #expect(try c.column("SELECT fate FROM fanfare.events ORDER BY id") == ["cancelled", "cancelled"])
        #expect(try c.number("SELECT count(*) FROM fanfare.scheduled") == 0)
    }

    /// Nothing of an event that waits was sent, so there is nothing to take back from devices.
    @Test func whatIsTakenBackWhileItWaitsIsNotEmitted() throws {
        let world = try World()
        let ids = try (1...3).map { try emitAt(world, "'r', now() + interval '1 h', '{}', 'k\($0)'") }
        let c = world.connection
        #expect(try c.text("SELECT fanfare.retract($1::bigint, 'ann')", String(ids[0])) == "f")
        #expect(try c.text("SELECT fanfare.retract($1::bigint)", String(ids[0])) == "t")
        #expect(try c.text("SELECT fanfare.retract($1::bigint)", String(ids[0])) == "f")
        #expect(try c.text("SELECT fanfare.retract('r', 'k2')") == "t")
        #expect(try c.column("SELECT id FROM fanfare.scheduled") == [String(ids[2])])
        try emitDue(world)
        // It is an event now, and is found by the id of its row.
        #expect(try c.text("SELECT fanfare.retract($1::bigint)", String(ids[2])) == "t")
        try world.plan()
        #expect(try c.column("SELECT fate FROM fanfare.events") == ["cancelled"])
    }

    /// A scheduler skips a row that another transaction has locked, and a cancel waits for a scheduler that has one.
    @Test func aCancelAndASchedulerNeverBothTakeARow() throws {
        let world = try World()
        let id = try emitAt(world, "'r', now(), '{}', 'k'")
        let other = try World()
        try other.connection.execute("BEGIN; SELECT fanfare.cancel('r', 'k')")
        #expect(try world.connection.run(SQL.emitScheduled(10)) == [0])
        try other.connection.execute("ROLLBACK; BEGIN")
        #expect(try other.connection.run(SQL.emitScheduled(10)) == [1])
        let answer = Locked<String?>(nil)
        let waiting = WorkerThread.start(name: "cancel") { [database = TestDatabase.current] in
            guard let world = try? World(database) else { return }
            let said = try? world.connection.text("SELECT fanfare.cancel($1::bigint)", String(id))
            answer.withLock { $0 = said }
        }
        try world.connection.waitUntil(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        try other.connection.execute("COMMIT")
        waiting.join()
        #expect(answer.withLock(\.self) == "t")
        try world.plan()
        #expect(try world.connection.column("SELECT fate FROM fanfare.events") == ["cancelled"])
    }

    @Test(arguments: [
        ("fanfare.emit_at(NULL, now())", "type: NULL is not an event type"),
        ("fanfare.emit_at(E'a\\nb', now())", "type: "),
        ("fanfare.emit_at('digest.shop.x', now())", "are emitted by Fanfare only"),
        ("fanfare.emit_at('r', NULL)", "at: NULL is not a time"),
        ("fanfare.emit_at('r', 'infinity')", "at: infinity is not a time"),
        ("fanfare.emit_at('r', now() + interval '11 years')", "at: is more than 10 years ahead"),
        ("fanfare.emit_at('r', now(), '[1]')", "payload: is not a JSON object"),
        ("fanfare.emit_at('r', now(), NULL)", "payload: is not a JSON object"),
        (
            "fanfare.emit_at('r', now(), jsonb_build_object('a', repeat('x', 66000)))",
            "payload: has more than 65536 bytes"
        ),
        (
            "fanfare.emit_at('r', now(), '{\"a\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}')",
            "payload: is nested"
        ),
        ("fanfare.emit_at('r', now(), '{}', repeat('k', 3000))", "key: has more than 2048 bytes"),
        ("fanfare.emit_at('r', now(), '{}', 'undefined')", "an event's key cannot be"),
        ("fanfare.emit_at('r', now(), '{}', 'k', '0')", "ttl: is not positive"),
        ("fanfare.emit_local('r', '2027-01-01 09:00', 'Mars/Olympus')", "zone: 'Mars/Olympus' is not a time zone"),
        ("fanfare.emit_local('r', '2027-01-01 09:00', NULL)", "zone: NULL is not a time zone"),
        ("fanfare.emit_local('r', NULL, 'recipient')", "at: NULL is not a time"),
        ("fanfare.emit_local('r', '2127-01-01 09:00', 'UTC')", "at: is more than 10 years ahead"),
        ("fanfare.reschedule(1, 'infinity')", "at: infinity is not a time"),
        ("fanfare.reschedule('r', 'waits', now(), '[]')", "payload: is not a JSON object"),
    ])
    func mistakesAreNamed(call: String, words: String) throws {
        let world = try World()
        let id = try emitAt(world, "'r', now() + interval '1 h', '{}', 'waits'")
        let error = #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT \(call.replacing("reschedule(1,", with: "reschedule(\(id),"))")
        }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.sqlState == "22023")
        #expect(error?.hint?.isEmpty == false)
    }

    @Test func aWatchEmitsWithADelay() throws {
        let world = try World()
        try world.connection.execute(
            """
            CREATE TABLE public.carts (id int PRIMARY KEY, state text);
            SELECT fanfare.watch_table('public.carts', 'cart.left', delay => '30 min');
            SELECT fanfare.watch_table('public.carts', 'cart.left', delay => '30 min');
            INSERT INTO public.carts VALUES (1, 'open'), (2, 'open');
            UPDATE public.carts SET state = 'closed' WHERE id = 1
            """
        )
        let rows =
            "SELECT (payload ->> 'op') || ' ' || (at > now() + interval '29 min') || ' ' || (at < now() + interval '31 min') FROM fanfare.scheduled ORDER BY id"
        #expect(try world.connection.column(rows) == ["insert true true", "insert true true", "update true true"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
        // A changed table takes another way to the same queue.
        try world.connection.execute("ALTER TABLE public.carts DROP COLUMN state; INSERT INTO public.carts VALUES (3)")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.scheduled") == 4)
        let error = #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT fanfare.watch_table('public.carts', 'cart.left', delay => '-1 s')")
        }
        #expect(error?.message.contains("delay cannot be") == true)
    }

    @Test func whoIsForgottenIsForgottenInEventsForLater() throws {
        let world = try World()
        try world.rule("r", event: "r", to: #"{"users": "$.u"}"#)
        for payload in [#"{"u": "ann"}"#, #"{"u": ["ann", "ann"]}"#, #"{"u": ["ann", "bob"]}"#, #"{"u": "bob"}"#] {
            _ = try emitAt(world, "'r', now() + interval '1 h', '\(payload)'")
        }
        _ = try emitAt(world, "'unruled', now() + interval '1 h', '{\"u\": \"ann\"}'")
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'ann')")
        let left = "SELECT payload ->> 'u' FROM fanfare.scheduled ORDER BY id"
        #expect(try world.connection.column(left) == [#"["ann", "bob"]"#, "bob", "ann"])
    }

    @Test func notesOfEmittedEventsAreKeptAsLongAsTheLog() throws {
        let world = try World()
        try world.connection.execute(
            """
            INSERT INTO fanfare.scheduled_events VALUES
                (1, (current_date - DATE '2020-01-01' - 31)::bigint << 32), (2, (current_date - DATE '2020-01-01')::bigint << 32)
            """
        )
        _ = try world.connection.runReturningCount(SQL.forgetScheduledEvents(30))
        #expect(try world.connection.column("SELECT scheduled_id FROM fanfare.scheduled_events") == ["2"])
    }

    @Test func healthTellsOfEventsThatAreOverdue() throws {
        let world = try World()
        let health = "SELECT ok FROM fanfare.health WHERE name = 'scheduled'"
        _ = try emitAt(world, "'r', now() + interval '1 h'")
        #expect(try world.connection.column(health) == ["t"])
        try world.connection.execute("UPDATE fanfare.scheduled SET at = now() - interval '2 min'")
        #expect(try world.connection.column(health) == ["f"])
    }
}
