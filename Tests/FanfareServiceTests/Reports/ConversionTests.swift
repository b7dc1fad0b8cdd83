import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareService
@testable import FanfareStore

/// Which push an event of a `conversion` type is credited to, and what a rule changes against its holdout.
@Suite(.database)
struct ConversionTests {
    private static let users = #"{"users": "$.u"}"#
    private static let paid =
        #""conversion": {"event": "paid", "user": "$.new.customer", "within": "1h", "value": "$.new.total"}"#

    private let world: World

    init() throws {
        world = try World()
    }

    private func send(_ type: String, to user: String) throws -> Int64 {
        let event = try world.emit(type, #"{"u": "\#(user)"}"#)
        try world.plan()
        try world.answer()
        return event
    }

    private func open(_ event: Int64, on device: Int64, version: Int64, variant: Int = 0) throws {
        try world.report(2, of: device, event: event, handle: "fanfare.report_handle(\(event), \(version), \(variant))")
        try world.foldReports()
    }

    /// Emits an event of the conversion type and credits it, as if a minute had passed.
    private func pay(_ user: String, _ total: String = "10", isDue: Bool = true) throws {
        try world.emit("paid", #"{"new": {"customer": "\#(user)", "total": \#(total)}}"#)
        try world.plan()
        if isDue { try world.connection.execute("UPDATE fanfare.conversions_pending SET due_at = now()") }
        while try world.connection.run(SQL.creditConversions()).first ?? 0 > 0 {}
    }

    /// Moves the pushes so far, and what was emitted so far, into the past.
    private func wait(_ span: String) throws {
        try world.connection.execute(
            "UPDATE fanfare.touches SET opened_at = opened_at - interval '\(span)', until = until - interval '\(span)'"
        )
    }

    /// The conversions by event, as `rule people value`.
    private func converted() throws -> [String] {
        try world.connection.column(
            """
            SELECT concat_ws(' ', r.name, c.devices, trim_scale(c.value)) FROM fanfare.report_counts AS c
            JOIN fanfare.rule_versions AS v ON v.id = c.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE c.kind = 5 ORDER BY c.event_id
            """
        )
    }

    @Test func theLastOpenedPushIsCredited() throws {
        let ann = try world.device("a0", user: "ann")
        let one = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        let two = try world.rule("two", event: "two", to: Self.users, #""report": true, \#(Self.paid)"#)
        let three = try world.rule("three", event: "three", to: Self.users, #""report": true, \#(Self.paid)"#)
        try open(send("one", to: "ann"), on: ann, version: one)
        try wait("2 minutes")
        let second = try send("two", to: "ann")
        try open(second, on: ann, version: two)
        try wait("1 minute")
        // A push that was not opened leads to nothing.
        let last = try send("three", to: "ann")
        try world.report(0, of: ann, event: last, handle: "fanfare.report_handle(\(last), \(three), 0)")
        try world.foldReports()
        try pay("ann", "12.5")
        #expect(try converted() == ["two 1 12.5"])
        #expect(
            try world.connection.column("SELECT rule || converted || ' ' || value FROM fanfare.funnel(\(second))")
                == ["two1 12.5"]
        )
        #expect(
            try world.connection.column(
                "SELECT rule || converted || ' ' || value FROM fanfare.engagement WHERE converted > 0"
            ) == ["two1 12.5"]
        )
    }

    @Test func aPersonCountsOnceAndAllValuesAreSummed() throws {
        let devices = [try world.device("a0", user: "ann"), try world.device("a1", user: "ann")]
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        let event = try send("one", to: "ann")
        for device in devices { try open(event, on: device, version: rule) }
        try pay("ann", "1")
        try pay("ann", #""2.25""#)
        try pay("ann", #""much""#)
        try pay("ann", "-0.25")
        #expect(try converted() == ["one 1 3"])
        try pay("bob")
        #expect(try converted() == ["one 1 3"])
    }

    @Test func onlyEventsWithinTheWindowCount() throws {
        let ann = try world.device("a0", user: "ann")
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        try pay("ann")
        try open(send("one", to: "ann"), on: ann, version: rule)
        #expect(try converted() == [])
        try pay("ann", isDue: false)
        #expect(try converted() == [], "a report may still come for a minute")
        try world.connection.execute("DELETE FROM fanfare.conversions_pending")
        try wait("1 hour")
        try pay("ann")
        #expect(try converted() == [])
        _ = try world.connection.run(SQL.forgetTouches())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.touches") == 1)
        try wait("1 hour")
        _ = try world.connection.run(SQL.forgetTouches())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.touches") == 0)
    }

    @Test func usersWithoutTrackingAndForgottenOnesAreNotCounted() throws {
        let ann = try world.device("a0", user: "ann")
        let bob = try world.device("b0", user: "bob")
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        _ = try world.connection.query("SELECT fanfare.set_tracking('shop', 'ann', false)")
        try open(send("one", to: "ann"), on: ann, version: rule)
        try open(send("one", to: "bob"), on: bob, version: rule)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.touches") == 1)
        let opened = "SELECT jsonb_path_query_array(fanfare.export_user('shop', $1), '$.opened[*].converted')::text"
        #expect(try world.connection.query(opened, "bob").rows == [["[false]"]])
        #expect(try world.connection.query(opened, "ann").rows == [["[]"]])
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'bob')")
        #expect(try world.connection.query(opened, "bob").rows == [["[]"]])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.touches") == 0)
        try pay("ann")
        try pay("bob")
        #expect(try converted() == [])
    }

    @Test func anAppCreditsItsOwnPushes() throws {
        let ann = try world.device("a0", user: "ann")
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        try open(send("one", to: "ann"), on: ann, version: rule)
        // The same push of another app.
        try world.connection.execute(
            """
            INSERT INTO fanfare.touches (app_id, path_id, person, event_id, rule_version, variant, planned_at, opened_at, until)
            SELECT app_id + 1, path_id, person, event_id - 1, rule_version, variant, planned_at, opened_at, until FROM fanfare.touches
            """
        )
        try pay("ann")
        #expect(try world.connection.number("SELECT sum(devices) FROM fanfare.report_stats WHERE kind = 5") == 2)
    }

    @Test func thePushThatWasOpenedLastIsCreditedAndNoneThatWasOpenedLater() throws {
        let ann = try world.device("a0", user: "ann")
        let one = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        let two = try world.rule("two", event: "two", to: Self.users, #""report": true, \#(Self.paid)"#)
        let (first, second) = (try send("one", to: "ann"), try send("two", to: "ann"))
        try open(second, on: ann, version: two)
        try wait("2 minutes")
        try open(first, on: ann, version: one)
        try pay("ann")
        #expect(try converted() == ["one 1 10"])
        // Both were opened long after this event.
        try world.connection.execute("UPDATE fanfare.touches SET opened_at = opened_at + interval '5 minutes'")
        try pay("ann")
        #expect(try converted() == ["one 1 10"])
    }

    /// The minute that a report of an open may be late does not credit what led to the push.
    @Test func anEventBeforeThePushIsNotCredited() throws {
        let ann = try world.device("a0", user: "ann")
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        try pay("ann", "99", isDue: false)
        let push = try send("one", to: "ann")
        try open(push, on: ann, version: rule)
        try pay("ann", "10")
        #expect(try converted() == ["one 1 10"])
        #expect(try world.connection.column("SELECT converted FROM fanfare.lift(\(push))") == ["1"])
    }

    /// The path of a conversion outlives its rule as long as an opened push has it, so that the user can be forgotten.
    @Test func whatWasOpenedCanBeForgottenAfterItsRuleHasEnded() throws {
        let ann = try world.device("a0", user: "ann")
        let rule = try world.rule("one", event: "one", to: Self.users, #""report": true, \#(Self.paid)"#)
        try open(send("one", to: "ann"), on: ann, version: rule)
        _ = try world.connection.query("SELECT fanfare.drop_rule('shop', 'one')")
        try world.connection.execute(
            """
            UPDATE fanfare.rule_versions SET retired_at = now() - interval '9 days';
            UPDATE fanfare.value_paths SET named_at = now() - interval '9 days'
            """
        )
        for _ in 0..<2 { _ = try world.connection.runReturningCount(SQL.forgetValuePaths(7)) }
        let opened = "SELECT jsonb_array_length(fanfare.export_user('shop', 'ann') -> 'opened')"
        #expect(try world.connection.number(opened) == 1)
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'ann')")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.touches") == 0)
        for _ in 0..<2 { _ = try world.connection.runReturningCount(SQL.forgetValuePaths(7)) }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_paths") == 0)
    }

    /// One rule may take pushes back and count conversions by the same value.
    @Test func oneValueMayServeTwoPurposesAndEndsWithItsRules() throws {
        try world.rule(
            "chat",
            event: "chat",
            to: #"{"users": "$.u"}"#,
            #"""
            "collapse": "c", "retract_on": {"event": "read", "by": "{{u}}"}, "holdout": "5%",
            "conversion": {"event": "chat", "user": "$.u"}
            """#
        )
        try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        let state = "SELECT count(*) || ' ' || bool_and(converts) || ' ' || bool_or(is_ended) FROM fanfare.value_paths"
        #expect(try world.connection.text(state) == "1 true false")
        let values =
            "SELECT (SELECT count(*) FROM fanfare.event_values) || ' ' || (SELECT count(*) FROM fanfare.conversions_pending)"
        #expect(try world.connection.text(values) == "1 1")
        _ = try world.connection.query("SELECT fanfare.drop_rule('shop', 'chat')")
        try world.connection.execute(
            """
            UPDATE fanfare.value_paths SET named_at = now() - interval '2 hours';
            UPDATE fanfare.rule_versions SET retired_at = now() - interval '31 days'
            """
        )
        _ = try world.connection.runReturningCount(SQL.forgetValuePaths(30))
        #expect(try world.connection.text(state) == "1 false true")
        try world.emit("chat", #"{"u": "bob"}"#)
        try world.plan()
        #expect(try world.connection.text(values) == "1 1")
        _ = try world.connection.runReturningCount(SQL.forgetValues(30))
        _ = try world.connection.runReturningCount(SQL.forgetValuePaths(30))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_paths") == 0)
        #expect(try world.connection.text(values) == "0 1")
    }

    @Test func peopleWhoOptedOutCountInTheirVariantAsInTheHoldout() throws {
        try world.devices(4)
        try world.rule("sale", event: "sale", to: #"{"everyone": true}"#, #""holdout": "10%", \#(Self.paid)"#)
        let event = try world.emit("sale")
        try world.plan()
        // Accepted, opted out, disabled before, held out.
        try world.answer("(ARRAY[1, 8, 7, 14])[1 + d % 4]")
        #expect(
            try world.connection.column(
                "SELECT concat_ws(' ', variant, people, not_reporting) FROM fanfare.lift(\(event))"
            )
                == ["holdout 1 1", "2 2"]
        )
    }

    @Test func theLiftIsThatOfAllWhoWereMeantToGetThePush() throws {
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'user-' || n)
            FROM generate_series(1, 2000) AS n
            """
        )
        let halves = #""variants": [{"name": "a"}, {"name": "b"}], "holdout": "30%""#
        let version = try world.rule("sale", event: "sale", to: #"{"everyone": true}"#, "\(halves), \(Self.paid)")
        let event = try world.emit("sale")
        try world.plan()
        try world.slice()
        let group = "fanfare.variant_of(v.definition::jsonb, u.user_id, u.id)"
        try world.answer(
            """
            (SELECT CASE WHEN \(group) = 'holdout' THEN 14 ELSE 1 END FROM fanfare.devices AS u, fanfare.rule_versions AS v
            WHERE u.id = d AND v.id = \(version))
            """
        )
        // Of a, every second user buys; of b, every tenth; of those held out, every fifth.
        let buyers = try world.connection.column(
            """
            SELECT user_id FROM (
                SELECT u.user_id, \(group) AS grp, row_number() OVER (PARTITION BY \(group) ORDER BY u.id) AS n
                FROM fanfare.devices AS u, fanfare.rule_versions AS v WHERE v.id = \(version)
            ) AS x WHERE n % CASE grp WHEN 'a' THEN 2 WHEN 'b' THEN 10 ELSE 5 END = 0
            """
        )
        try world.connection.execute(
            """
            SELECT count(fanfare.emit('paid', jsonb_build_object('new', jsonb_build_object('customer', u))))
            FROM unnest('{\(buyers.joined(separator: ","))}'::text[]) AS u, generate_series(1, 2)
            """
        )
        try world.planRounds()
        let lift = try world.connection.column(
            """
            SELECT concat_ws(' ', variant, round(rate::numeric, 2), round(lift::numeric, 1), low < lift AND lift < high)
            FROM fanfare.lift(\(event))
            """
        )
        #expect(lift == ["holdout 0.20", "a 0.50 0.3 t", "b 0.10 -0.1 t"])
        #expect(try world.connection.number("SELECT sum(people) FROM fanfare.lift(\(event))") == 2000)
        #expect(try world.connection.number("SELECT sum(not_reporting) FROM fanfare.lift(\(event))") == 2000)
        #expect(
            try world.connection.column("SELECT variant || people || converted FROM fanfare.lift(\(event))")
                == world.connection.column(
                    "SELECT variant || people || converted FROM fanfare.lift('shop', 'sale', now() - interval '1 day')"
                )
        )
        // The same interval as the test that experiments do not use, which is for one look.
        let figures = try world.connection.column(
            "SELECT concat_ws(' ', converted, people, low, high) FROM fanfare.lift(\(event)) ORDER BY variant"
        ).map { $0.split(separator: " ").compactMap { Double($0) } }
        let counts = figures.map { RateCount(Int($0[0]), of: Int($0[1])) }
        let (a, held) = (try #require(counts[0]), try #require(counts[2]))
        let interval = RateTest.once.compare(held, a).interval
        #expect(abs(interval.low - figures[0][2]) < 1e-9 && abs(interval.high - figures[0][3]) < 1e-9)
    }
}

/// Conversions that a query finds.
@Suite(.database)
struct ConversionQueryTests {
    private static let query = "SELECT c, at, total FROM public.orders WHERE at >= $1"

    private let world: World

    init() throws {
        world = try World()

        try world.connection.execute(
            "CREATE TABLE public.orders (c text, at timestamptz DEFAULT now(), total numeric); GRANT SELECT ON public.orders TO fanfare_sql"
        )
    }

    /// Executes the query that is due, and credits what it found.
    private func read() throws {
        try world.connection.execute("UPDATE fanfare.value_paths SET tried_at = tried_at - interval '2 minutes'")
        try ConversionReader(context: world.context).takeTurn(
            on: world.connection,
            at: world.connection.timestamp("now()")
        )
        try world.connection.execute("UPDATE fanfare.conversions_pending SET due_at = now()")
        while try world.connection.run(SQL.creditConversions()).first ?? 0 > 0 {}
    }

    private func alarms() throws -> [String] {
        try world.connection.column("SELECT name || ': ' || detail FROM fanfare.alarms")
    }

    @Test func rowsOfTheQueryAreCreditedOnce() throws {
        let ann = try world.device("a0", user: "ann")
        let version = try world.rule(
            "one",
            event: "one",
            to: #"{"users": "$.u"}"#,
            #""report": true, "conversion": {"within": "1h"}, "conversion_sql": "\#(Self.query)""#
        )
        let event = try world.emit("one", #"{"u": "ann"}"#)
        try world.plan()
        try world.answer()
        try world.report(2, of: ann, event: event, handle: "fanfare.report_handle(\(event), \(version), 0)")
        try world.foldReports()
        try world.connection.execute(
            """
            INSERT INTO public.orders VALUES ('ann', now(), 5), ('bob', now(), 7), (NULL, now(), 8),
                ('cyd', 'infinity', 1), ('cyd', '294276-12-31', 1)
            """
        )
        for _ in 0..<3 { try read() }
        let counts = "SELECT devices || ' ' || trim_scale(value) FROM fanfare.report_counts WHERE kind = 5"
        #expect(try world.connection.column(counts) == ["1 5"])
        #expect(try world.connection.column("SELECT converted FROM fanfare.lift(\(event))") == ["1"])
        try world.connection.execute("INSERT INTO public.orders VALUES ('ann', now(), 2)")
        try read()
        #expect(try world.connection.column(counts) == ["1 7"])
        #expect(try alarms() == [])
    }

    @Test func aFailingQueryRaisesAnAlarmThatEnds() throws {
        try world.rule(
            "one",
            event: "one",
            to: #"{"users": "$.u"}"#,
            #""holdout": "5%", "conversion_sql": "\#(Self.query)""#
        )
        try world.connection.execute("ALTER TABLE public.orders RENAME TO bills")
        try read()
        #expect(try alarms() == [#"conversion_sql/shop/one: relation "public.orders" does not exist"#])
        try world.connection.execute("ALTER TABLE public.bills RENAME TO orders")
        try read()
        #expect(try alarms() == [])
    }

    @Test(arguments: [
        ("SELECT c, at, total, 1 FROM public.orders WHERE at >= $1", "has more than three columns"),
        ("SELECT c FROM public.orders WHERE at >= $1", "has one column"),
        ("SELECT c, at FROM public.orders", "does not ask for $1"),
        ("DELETE FROM public.orders WHERE at >= $1 RETURNING c, at", "writes, but it must only read"),
        ("SELECT c, total FROM public.orders WHERE at >= $1", "cannot cast type numeric to timestamp with time zone"),
    ])
    func refusals(_ query: String, _ reason: String) throws {
        #expect(
            try world.connection.text("SELECT reason FROM fanfare.conversion_sql_error('\(query)')") == reason
        )
    }
}
