import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore

/// The rules for names, which are defined both in SQL and in Swift.
@Suite(.database)
struct NameTests {
    private static let corpus: [String] = {
        let odd = [
            "", " ", "a", "Z9", "order.shipped", "_a", "-a", ".a", "a_b", "a-b", "a.b", "a b", "a/b", "a:b", "a%b",
            "a~b", "a\n", "\na",
            "a\tb", "a\u{7F}b", "a\u{1}b", "a\u{1F}", "a\u{80}b", "é", "日本", "👍🏽", "e\u{301}", "a'b", "a\"b", "a\\b",
            "$", "[x]",
            "ſ", "K", "０",
        ]
        let controls = [
            0x7E, 0x9F, 0xA0, 0x61B, 0x61C, 0x200D, 0x200E, 0x200F, 0x2010, 0x2029, 0x202A, 0x202E, 0x202F, 0x2065,
            0x2066, 0x2069, 0x206A,
        ]
        let marked = controls.compactMap { Unicode.Scalar($0).map { "a\($0)b" } }
        let long = [63, 64, 65, 99, 100, 101, 199, 200, 201, 254, 255, 256].map { String(repeating: "x", count: $0) }
        return odd + marked + long + [String(repeating: "é", count: 127), String(repeating: "é", count: 128)]
    }()

    @Test func sqlAndSwiftAgree() throws {
        let connection = try TestDatabase.current.connect()
        for name in Self.corpus {
            let inSQL = try connection.query(
                "SELECT fanfare.is_app_name($1), fanfare.is_rule_name($1), fanfare.is_event_type($1), fanfare.is_label($1)",
                name
            ).rows[0]
            let inSwift = [
                RuleNames.isApp(name), RuleNames.isRule(name), RuleNames.isEventType(name), RuleNames.isLabel(name),
            ]
            #expect(inSQL == inSwift.map { $0 ? "t" : "f" }, "\(name.debugDescription)")
        }
    }

    @Test func watchesTakeWhatRulesCanName() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("CREATE TABLE public.watched (id int PRIMARY KEY)")
        for name in Self.corpus {
            let watch = { try connection.query("SELECT fanfare.watch_table('public.watched', $1)", name) }
            guard RuleNames.isEventType(name) else {
                let error = #expect(throws: PostgresError.self, "\(name.debugDescription)") { try watch() }
                #expect(error?.sqlState == "22023" && error?.hint != nil)
                continue
            }
            _ = try watch()
            try connection.execute("INSERT INTO public.watched VALUES (1); DELETE FROM public.watched")
            #expect(try connection.column("SELECT DISTINCT type FROM fanfare.outbox") == [name])
            try connection.execute("TRUNCATE fanfare.outbox; SELECT fanfare.unwatch_table('public.watched')")
        }
    }
}
