import PostgresClient
import TestKit
import Testing
import Threading

@testable import FanfareService

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
            try? RuleChecker(logger: context.logger).check(on: connection)
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
            _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
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

    @Test func oneBadRuleStopsNoOther() throws {
        let world = try World()
        _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", #"{"app": "shop", "name": "bad"}"#)
        #expect(try world.rule("good", event: "e", to: #"{"users": "$.u"}"#) > 0)
        #expect(try world.connection.text("SELECT ok FROM fanfare.health WHERE name = 'rules'") == "f")
    }
}
