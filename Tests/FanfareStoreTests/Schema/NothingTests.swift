import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The texts that stand for no value: `fanfare.is_nothing` in SQL and ``NothingText`` agree.
@Suite(.database)
struct NothingTests {
    private static let words = [
        "null", "NULL", "Null", "(null)", "<null>", "None", "undefined", "nil", "<nil>", "NaN", "\\N",
    ]
    private static let others = [
        "", " ", "\t\n", " null ", "[object Object]", "a", "nulls", "nobody", "N", "0", "none", "nan", "NIL", "NONE",
        "Undefined", "ＮＵＬＬ", "n\u{131}l",
    ]
    private let connection: PostgresConnection

    init() throws { connection = try TestDatabase.current.connect() }

    private func register(_ token: String, _ user: String?, locale: String? = nil, zone: String? = nil) throws -> Int64
    {
        try connection.number(
            "SELECT fanfare.register_device('shop', 'fcm', $1, $2, locale => $3, time_zone => $4)",
            token,
            user,
            locale,
            zone
        )
    }

    @Test(arguments: words + others)
    func sqlAndSwiftAgree(text: String) throws {
        let inSQL = try connection.query("SELECT fanfare.is_nothing($1)", text).rows[0][0] == "t"
        #expect(inSQL == NothingText.matches(text))
    }

    @Test(arguments: ["", " ", "\t"])
    func aBlankUserOrKeyIsNone(blank: String) throws {
        _ = try register("a:1", blank)
        _ = try connection.query("SELECT fanfare.emit('t', '{}', key => $1)", blank)
        #expect(try connection.text("SELECT count(*) FROM fanfare.devices WHERE user_id IS NULL") == "1")
        #expect(try connection.text("SELECT count(*) FROM fanfare.outbox WHERE key IS NULL") == "1")
        #expect(connection.refusal("SELECT fanfare.forget_user('shop', '\(blank)')")?.sqlState == "22023")
        #expect(connection.refusal("SELECT fanfare.cancel('t', '\(blank)')")?.sqlState == "22023")
        let preference = connection.refusal("SELECT fanfare.set_preference('shop', '\(blank)', 'news', true)")
        #expect(preference?.sqlState == "22023")
    }

    @Test(arguments: words)
    func aWordForNothingIsRefused(word: String) throws {
        let device = try register("a:1", "ann", locale: word, zone: word)
        let stored = "SELECT coalesce(locale, '-') || coalesce(time_zone, '-') FROM fanfare.devices"
        #expect(try connection.text(stored) == "--")
        for call in [
            "register_device('shop', 'fcm', 'b:1', '\(word)')", "register_device('shop', 'fcm', '\(word)', 'ann')",
            "emit('t', '{}', key => '\(word)')", "cancel('t', '\(word)')", "subscribe(\(device), '\(word)')",
            "set_preference('shop', '\(word)', 'news', true)", "snooze('shop', '\(word)', now())",
        ] {
            let refusal = connection.refusal("SELECT fanfare.\(call)")
            #expect(refusal?.sqlState == "22023" && refusal?.hint?.isEmpty == false, "\(call)")
        }
        // Older versions accepted such ids, so they can still be removed.
        #expect(try connection.number("SELECT fanfare.forget_user('shop', '\(word)')") == 0)
    }

    @Test func aTokenWithBlanksAroundItIsRefusedForThem() {
        for token in ["a:1 ", " a:1", "a:1\u{A0}", "\u{FEFF}a:1", "a:1\n"] {
            #expect(throws: PostgresError.self) { try register(token, "ann") }
            let refusal = connection.refusal("SELECT fanfare.check_device('fcm', '\(token)', NULL, NULL)")
            #expect("\(refusal.map { "\($0)" } ?? "")".contains("the token has blanks around it"))
        }
        for token in ["BLACKLISTED", "Blacklisted"] {
            let refusal = connection.refusal("SELECT fanfare.register_device('shop', 'fcm', '\(token)')")
            #expect(refusal?.message.contains("which programs write where they have none") == true, "\(token)")
        }
    }

    @Test func anEventForAWordNamesNobody() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        for (payload, detail) in [
            (#"{"u": ""}"#, "rule r: to.users finds '', which names nobody"),
            (#"{"u": "null"}"#, "rule r: to.users finds 'null', which names nobody"),
            (#"{"u": null}"#, "rule r: to.users finds null, where a string names one"),
        ] {
            let event = try world.emit("e", payload)
            try world.plan()
            #expect(try world.detail(event) == detail)
            #expect(try world.recipients(event) == [])
        }
    }
}
