import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite(.database)
struct RuleFunctionTests {
    private static let rule =
        #"{"app": "shop", "name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"notification": {"title": "T"}}}"#

    @Test func theSameContentMakesNoNewVersion() throws {
        let connection = try TestDatabase.current.connect()
        let put = "SELECT fanfare.put_rule($1::jsonb)"
        #expect(try connection.number(put, Self.rule) == 1)
        #expect(try connection.number(put, Self.rule.replacing(": ", with: ":  ")) == 1)
        #expect(try connection.number(put, Self.rule.replacing("\"T\"", with: "\"U\"")) == 2)
        #expect(try connection.number(put, Self.rule) == 3)
        #expect(try connection.column("SELECT DISTINCT state FROM fanfare.rule_versions") == ["unchecked"])
    }

    @Test func droppingEndsARuleAndItsNameIsFree() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let drop = "SELECT fanfare.drop_rule('shop', 'r')"
        #expect(try world.connection.text(drop) == "t")
        #expect(try world.connection.text(drop) == "f")
        let event = try world.emit("e", #"{"u": "x"}"#)
        try world.plan()
        #expect(try world.fate(event) == "unmatched")
        #expect(try world.connection.number("SELECT fanfare.put_rule($1::jsonb)", Self.rule) == 1, "a new rule")
    }

    @Test func aRuleThatIsDroppedWhileItIsCheckedIsNotInForce() throws {
        let world = try World()
        _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", Self.rule)
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; SELECT fanfare.drop_rule('shop', 'r')")
        let context = world.context
        let checker = WorkerThread.start(name: "checker") {
            guard let connection = try? PostgresConnection.open(context.database.queue("checker")) else { return }
            _ = try? RuleChecker(logger: context.logger).check(on: connection)
        }
        try world.connection.waitUntil(
            """
            SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'fanfare checker' AND wait_event_type = 'Lock')
            """
        )
        try other.execute("COMMIT")
        checker.join()
        let state = "SELECT state || ' ' || (retired_at IS NOT NULL) FROM fanfare.rule_versions"
        #expect(try world.connection.column(state) == ["active true"])
        let event = try world.emit("e", #"{"u": "x"}"#)
        try world.plan()
        #expect(try world.fate(event) == "unmatched")
    }

    static let noRules = [
        "NULL", "'[]'", "'\"r\"'", #"'{"name": "r"}'"#, #"'{"app": "shop"}'"#, #"'{"app": "shop", "name": ""}'"#,
        #"'{"app": "shop", "name": "a b"}'"#, #"'{"app": 7, "name": "r"}'"#, #"'{"app": "a b", "name": "r"}'"#,
        #"'{"app": "shop", "name": "r"}'"#, #"'{"app": "shop", "name": "r", "event": "e"}'"#,
        #"('{"app": "shop", "name": "r", "x": "' || repeat('x', 65536) || '"}')::jsonb"#,
    ]

    @Test func whatIsNoRuleIsRefusedWithAHint() throws {
        let connection = try TestDatabase.current.connect()
        for rule in Self.noRules {
            let error = try #require(connection.refusal("SELECT fanfare.put_rule(\(rule))"))
            #expect(error.sqlState == "22023")
            #expect(error.hint?.isEmpty == false)
        }
        #expect(try connection.number("SELECT count(*) FROM fanfare.rules") == 0)
    }

    static let flaws = [
        (#""when": "$.a""#, "when"), (#""when": "$.a ==""#, "when"), (#""when": "$x == 1""#, "when"),
        (#""when": "$.at.datetime(\"YYYY-MM-DDTHH24\") < $.by.datetime()""#, "when"),
        (#""to": {"users": "$["}"#, "to.users"), (#""to": {"users": "$.u", "devices": "$.tier"}"#, "to.devices"),
        (#""message": {}"#, "message"), (#""lane": "fast""#, "lane"), (#""colour": 1"#, "colour"),
    ]

    @Test func aBadRuleIsRefusedWithItsPlaceAndTheLastGoodOneStays() throws {
        let world = try World()
        let good = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        for (member, place) in Self.flaws {
            let key = String(member.split(separator: ":")[0])
            var members = [#""app": "shop""#, #""name": "r""#, #""event": "e""#]
            if key != #""to""# { members.append(#""to": {"users": "$.u"}"#) }
            if key != #""message""# { members.append(#""message": {"notification": {"title": "T"}}"#) }
            let rule = "{\((members + [member]).joined(separator: ", "))}"
            // As stored by an earlier put_rule, which checked the name only.
            _ = try world.connection.query(
                """
                INSERT INTO fanfare.rule_versions (rule_id, version, definition)
                SELECT rule_id, max(version) + 1, $1::json FROM fanfare.rule_versions GROUP BY rule_id
                """,
                rule
            )
            try RuleChecker(logger: world.context.logger).check(on: world.connection)
            let newest = try world.connection.query(
                "SELECT state, reason FROM fanfare.rule_versions ORDER BY id DESC LIMIT 1"
            ).rows[0]
            #expect(newest[0] == "refused", "\(member)")
            #expect(newest[1]?.contains(place) == true, "\(member): \(newest[1] ?? "")")
            let inForce = "SELECT id FROM fanfare.rule_versions WHERE state = 'active' AND retired_at IS NULL"
            #expect(try world.connection.column(inForce) == ["\(good)"])
        }
    }

    /// The errors that SQL detects, by the faulty members of an otherwise valid rule, with their hints.
    static let refusals = [
        (#""event": 7"#, "event: is not a string", "one line"),
        (#""event": "a\nb""#, "event: cannot be a name", "one line"),
        (#""colour": 1"#, "colour: unknown key", "badge_sql"),
        (#""when": 7"#, "when: is not a string", "string"),
        (#""when": "$.a""#, "when: is not a predicate", "compare"),
        (#""when": "$x == 1""#, "when: is not a jsonpath", "$.customer_id"),
        (#""to": 7"#, "to: is not an object", "users"),
        (#""to": {"users": "u"}"#, "to.users: is not a jsonpath", #"begin with "$""#),
        (#""to": {"users": "$["}"#, "to.users: is not a jsonpath", "$.customer_id"),
        (#""to": {"users": "$.u", "devices": "tier == 1"}"#, "to.devices: is not a jsonpath", #"begin with "$""#),
        (#""to": {"tokens": "$.t ==", "provider": "apns"}"#, "to.tokens: is not a jsonpath", "$.customer_id"),
        (#""to": {"users": "$.u", "topic": "t"}"#, "to: has users and topic", "exactly one"),
        (#""to": {"provider": "apns"}"#, "to: names no audience", "exactly one"),
        (#""to": {"everyone": "yes"}"#, "to.everyone: is not true", "true"),
        (#""to": {"topic": ["t"]}"#, "to.topic: is not a string", "string"),
        (#""to": {"user": "$.u"}"#, "to.user: unknown key", "users"),
        (#""to": {"users": "$.u", "users_sql": "SELECT 1"}"#, "to: has users and users_sql", "exactly one"),
        (#""to": {"users_sql": "SELECT 1", "topic": "t"}"#, "to: has users_sql and topic", "exactly one"),
        (#""to": {"users_sql": 7}"#, "to.users_sql: is not a string", "string"),
        (#""to": {"users_sql": "SELECT id FORM unread"}"#, "to.users_sql: syntax error", "SELECT"),
        (#""to": {"users_sql": "SELECT $2"}"#, "to.users_sql: there is no parameter $2", "SELECT"),
        (
            #""to": {"users_sql": "SELECT id FROM public.no"}"#, "to.users_sql: relation \"public.no\" does not exist",
            "SELECT"
        ),
        (
            #""to": {"users_sql": "SELECT id, n FROM public.unread"}"#, "to.users_sql: has more than one column",
            "one column"
        ),
        (#""to": {"users_sql": "SELECT FROM public.unread"}"#, "to.users_sql: has no column", "one column"),
        (#""to": {"users_sql": "SELECT $1->'u'"}"#, "to.users_sql: returns jsonb", "->>"),
        (#""to": {"users_sql": "SELECT true"}"#, "to.users_sql: returns boolean", "id"),
        (#""to": {"users_sql": "DELETE FROM public.unread RETURNING id"}"#, "to.users_sql: writes", "SELECT"),
        (
            #""to": {"users_sql": "WITH w AS (DELETE FROM public.unread RETURNING id) SELECT id FROM w"}"#,
            "to.users_sql: WITH clause containing a data-modifying statement", "SELECT"
        ),
        (
            #""to": {"users_sql": "SELECT id FROM public.unread FOR UPDATE"}"#,
            "to.users_sql: cannot execute SELECT FOR UPDATE", "SELECT"
        ),
        (
            #""to": {"users_sql": "SELECT '1') AS q; DELETE FROM public.unread; SELECT (1"}"#,
            "to.users_sql: syntax error", "SELECT"
        ),
        (#""badge_sql": "SELECT user_id FORM unread""#, "badge_sql: syntax error", "SELECT"),
        (
            #""badge_sql": "SELECT id, 1 FROM public.nowhere""#,
            #"badge_sql: relation "public.nowhere" does not exist"#, "SELECT"
        ),
        (#""badge_sql": "SELECT id FROM unnest($1) AS id""#, "badge_sql: table", "SELECT"),
        (
            #""badge_sql": "SELECT id, 1, 2 FROM unnest($1) AS id""#,
            "badge_sql: has more than two columns", "two columns"
        ),
        (#""badge_sql": "DELETE FROM public.unread RETURNING id, n""#, "badge_sql: writes", "SELECT"),
        (
            #""badge_sql": "SELECT id, n FROM public.unread FOR UPDATE""#,
            "badge_sql: cannot execute SELECT FOR UPDATE", "SELECT"
        ),
        (
            #""badge_sql": "SELECT id, 1 FROM public.unread) AS q (id, count); DELETE FROM public.unread; SELECT (1""#,
            "badge_sql: syntax error", "SELECT"
        ),
    ]

    @Test func whatShowsInSQLIsRefusedAtOnce() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute(
            """
            CREATE TABLE public.unread (id text, n int); INSERT INTO public.unread VALUES ('u', 1);
            GRANT SELECT, UPDATE, DELETE ON public.unread TO fanfare_sql
            """
        )
        for (member, message, hint) in Self.refusals {
            let key = String(member.split(separator: ":")[0])
            let members = [
                #""app": "shop""#, #""name": "r""#, #""event": "e""#, #""to": {"users": "$.u"}"#, #""message": {}"#,
            ]
            let rule = "{\((members.filter { !$0.hasPrefix(key) } + [member]).joined(separator: ", "))}"
            let error = #expect(throws: PostgresError.self, "\(member)") {
                try connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
            }
            #expect(error?.sqlState == "22023", "\(member)")
            #expect(error?.message.hasPrefix(message) == true, "\(member): \(error?.message ?? "")")
            #expect(error?.hint?.contains(hint) == true, "\(member): \(error?.hint ?? "")")
        }
        #expect(try connection.number("SELECT count(*) FROM fanfare.rules") == 0)
        #expect(try connection.number("SELECT count(*) FROM public.unread") == 1, "nothing of a query is run")
        #expect(try connection.text("SHOW transaction_read_only") == "off")
    }

    @Test func rightsForABadgeMayComeLater() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("CREATE TABLE public.unread (id text, n int)")
        var warnings: [String] = []
        connection.noticeHandler = { warnings.append($0.message) }
        let query = "SELECT id, n FROM public.unread WHERE id = ANY ($1)"
        let rule = Self.rule.replacing(#""event""#, with: #""badge_sql": "\#(query)", "event""#)
        #expect(try connection.number("SELECT fanfare.put_rule($1::jsonb)", rule) == 1)
        #expect(warnings.contains("badge_sql: permission denied for table unread"))
    }

    @Test func rightsForUsersMayComeLater() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("CREATE TABLE public.members (id text)")
        var warnings: [String] = []
        connection.noticeHandler = { warnings.append($0.message) }
        let to = #"{"users_sql": "SELECT id FROM public.members"}"#
        let rule = Self.rule.replacing(#"{"users": "$.u"}"#, with: to)
        #expect(try connection.number("SELECT fanfare.put_rule($1::jsonb)", rule) == 1)
        #expect(warnings.contains("to.users_sql: permission denied for table members"))
    }

    @Test func keysAreTheSameInSQLAsInTheDaemon() throws {
        let connection = try TestDatabase.current.connect()
        func known(_ rule: String) throws -> [String] {
            let hint = try connection.text("SELECT hint FROM fanfare.rule_error($1::jsonb)", rule) ?? ""
            return hint.replacing("known are ", with: "").split(separator: ", ").map(String.init)
        }
        #expect(try known(#"{"?": 1}"#) == DefinitionObject.rule.keys.map(\.name))
        let audience = try known(Self.rule.replacing(#"{"users": "$.u"}"#, with: #"{"?": 1}"#))
        #expect(
            audience == AudienceKey.allCases.map(\.rawValue) + [
                "devices", "provider", "kind", "permission", "presents",
            ]
        )
    }

    @Test func manyVersionsOfARuleLeaveTheLastGoodOneInForce() throws {
        let world = try World()
        let rules = ["A", "B", "C"].map { Self.rule.replacing("\"T\"", with: "\"\($0)\"") }
        for rule in rules + [Self.rule.replacing("notification", with: "notice")] {
            _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        }
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
        let states = try world.connection.column(
            "SELECT version || ' ' || state || ' ' || (retired_at IS NULL) FROM fanfare.rule_versions ORDER BY version"
        )
        #expect(states == ["1 active false", "2 active false", "3 active true", "4 refused true"])
    }

    @Test func aThousandRulesAreCheckedTogether() throws {
        let world = try World()
        _ = try world.connection.query(
            """
            SELECT count(fanfare.put_rule($1::jsonb || jsonb_build_object('name', 'r' || n)))
            FROM generate_series(1, 1000) AS n
            """,
            Self.rule
        )
        let checker = RuleChecker(logger: world.context.logger)
        #expect(try !checker.check(on: world.connection, until: 0), "one set, and more to do")
        let unchecked = "SELECT count(*) FROM fanfare.rule_versions WHERE state = 'unchecked'"
        #expect(try world.connection.number(unchecked) == 800)
        #expect(try checker.check(on: world.connection))
        #expect(try world.connection.number(unchecked) == 0)
        // Separate statements for each rule took 50 s for ten thousand rules.
        let commits = "SELECT count(DISTINCT xmin::text) FROM fanfare.rule_versions"
        #expect(try world.connection.number(commits) == 5)
    }

    @Test func oneBadRuleStopsNoOther() throws {
        let world = try World()
        _ = try world.connection.query(
            "SELECT fanfare.put_rule($1::jsonb)",
            #"{"app": "shop", "name": "bad", "event": "e", "to": {"everyone": true}, "message": {}}"#
        )
        #expect(try world.rule("good", event: "e", to: #"{"users": "$.u"}"#) > 0)
        #expect(try world.connection.text("SELECT ok FROM fanfare.health WHERE name = 'rules'") == "f")
    }
}
