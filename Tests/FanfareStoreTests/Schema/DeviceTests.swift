import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

@Suite(.database)
struct DeviceTests {
    let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func register(_ arguments: String) throws -> Int64 {
        try connection.number("SELECT fanfare.register_device(\(arguments))")
    }

    private func row(_ id: Int64) throws -> [String?] {
        try connection.query(
            """
            SELECT d.token, d.user_id, d.locale, d.attributes::text, t.environment, d.disabled_reason
            FROM fanfare.devices AS d JOIN fanfare.targets AS t ON t.id = d.target_id WHERE d.id = $1
            """,
            String(id)
        ).rows[0]
    }

    @Test func theSameTokenAgainIsTheSameDevice() throws {
        let first = try register(#"'shop', 'apns', 'AABB', 'u', locale => 'es', attributes => '{"a": 1}'"#)
        let before = try connection.text("SELECT registered_at FROM fanfare.devices")
        let again = try register("'shop', 'apns', 'aabb', environment => 'sandbox', time_zone => 'Europe/Madrid'")
        #expect(first == again)
        #expect(try row(first) == ["aabb", "u", "es", #"{"a": 1}"#, "sandbox", nil])
        #expect(try connection.text("SELECT registered_at > $1::timestamptz FROM fanfare.devices", before) == "t")
    }

    /// Apps may send `replaces` at each start, long after the old token was replaced.
    @Test(arguments: ["'fcm', 'new'", "'fcm', 'new', address => 'fid'"])
    func aTokenThatWasReplacedLongAgoIsNotSearchedFor(form: String) throws {
        _ = try connection.query(
            "SELECT count(fanfare.register_device('shop', 'fcm', 'token-' || g, 'user-' || g)) FROM generate_series(1, 5000) AS g"
        )
        try connection.execute("ANALYZE fanfare.devices")
        let call = "'shop', \(form.replacing("'new'", with: "'new', 'u'")), replaces => 'old'"
        let id = try register(call)
        // From the sixth execution on, plans may be generic.
        for _ in 0..<8 {
            try connection.execute("BEGIN")
            #expect(try register(call) == id)
            let read =
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'fanfare.devices'::regclass"
            #expect(try connection.number(read) < 50)
            try connection.execute("COMMIT")
        }
    }

    @Test func anEmptyKeyIsNone() throws {
        _ = try register("'shop', 'apns', 'ab', p256dh => '', auth => ''")
        let browser = "'shop', 'webpush', 'https://x.example/1'"
        let id = try register("\(browser), p256dh => '\(Self.p256dh)', auth => '\(Self.auth)'")
        #expect(try register("\(browser), p256dh => '', auth => ''") == id)
        #expect(try connection.text("SELECT p256dh FROM fanfare.devices WHERE id = $1", String(id)) == Self.p256dh)
    }

    @Test func registeringEnablesAgain() throws {
        let id = try register("'shop', 'apns', 'ab'")
        #expect(try connection.text("SELECT fanfare.unregister_device('shop', 'apns', 'AB')") == "t")
        #expect(try connection.text("SELECT fanfare.unregister_device('shop', 'apns', 'ab')") == "f")
        #expect(try row(id)[5] == "unregistered")
        #expect(try register("'shop', 'apns', 'ab'") == id)
        #expect(try row(id)[5] == nil)
    }

    @Test func anotherUserGetsAnotherDevice() throws {
        let first = try register("'shop', 'apns', 'ab', 'ann'")
        _ = try connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(first))
        let second = try register("'shop', 'apns', 'ab', 'bob'")
        #expect(first != second)
        #expect(try row(first)[5] == "reassigned")
        #expect(try row(second)[1] == "bob")
        #expect(try connection.number("SELECT count(*) FROM fanfare.subscriptions") == 0)
        #expect(try connection.number("SELECT fanfare.device_id('shop', 'apns', 'ab')") == second)
        #expect(try register("'shop', 'apns', 'ab'") == second, "no user named: stays with whom it is")
        #expect(try register("'shop', 'apns', 'ab', 'ann'") != first, "ended devices do not come back")
    }

    @Test func appsAndProvidersAreApart() throws {
        let ids = try [
            register("'shop', 'apns', 'ab'"), register("'news', 'apns', 'ab'"), register("'shop', 'fcm', 'ab'"),
        ]
        #expect(Set(ids).count == 3)
        #expect(try connection.text("SELECT fanfare.device_id('other', 'apns', 'ab')") == nil)
    }

    @Test func aRotatedTokenKeepsIdAndTopics() throws {
        let id = try register("'shop', 'apns', 'aa', 'u'")
        _ = try connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(id))
        #expect(try register("'shop', 'apns', 'bb', 'u', replaces => 'AA'") == id)
        #expect(try row(id)[0] == "bb")
        #expect(try connection.number("SELECT count(*) FROM fanfare.subscriptions") == 1)
        #expect(try connection.text("SELECT fanfare.device_id('shop', 'apns', 'aa')") == nil)
    }

    @Test func rotatingOntoATokenThatIsThereLeavesOneHolder() throws {
        let old = try register("'shop', 'apns', 'aa', 'u'")
        let there = try register("'shop', 'apns', 'bb', 'u'")
        #expect(try register("'shop', 'apns', 'bb', 'u', replaces => 'aa'") == old)
        #expect(try row(there)[5] == "reassigned")
        #expect(try register("'shop', 'apns', 'cc', 'u', replaces => 'dd'") > there, "what it replaces is unknown")
        #expect(try register("'shop', 'apns', 'cc', 'u', replaces => 'CC'") > there, "it replaces itself")
    }

    @Test func registeringAtOnceMakesOneDevice() async throws {
        let database = TestDatabase.current
        let ids = try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    try await onThread {
                        let connection = try database.connect()
                        return try (0..<20).map { n in
                            try connection.number(
                                "SELECT fanfare.register_device('shop', 'apns', $1, 'u')",
                                "aa\(10 + n)"
                            )
                        }
                    }
                }
            }
            return try await group.reduce(into: [[Int64]]()) { $0.append($1) }
        }
        #expect(Set(ids).count == 1)
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 20)
    }

    private static let p256dh = SampleSubscription.p256dh
    private static let auth = SampleSubscription.auth

    static let malformed = [
        "'shop', 'apns', ''", "'shop', 'apns', NULL", "'shop', 'apns', 'xyz'", "'shop', 'apns', 'abc'",
        "'shop', 'apns', E'ab\\n'",
        "'shop', 'apns', repeat('ab', 2049)", "'shop', 'fcm', 'a b'", "'shop', 'fcm', 'a/b'",
        "'shop', 'webpush', 'http://x.example/1', p256dh => '\(p256dh)', auth => '\(auth)'",
        "'shop', 'webpush', 'https://x example', p256dh => '\(p256dh)', auth => '\(auth)'",
        "'shop', 'webpush', 'https://x.example/1', p256dh => '\(p256dh)'",
        "'shop', 'telegraph', 'ab'", "'shop', NULL, 'ab'", "'shop', 'apns', 'ab', environment => 'test'",
        "'shop', 'apns', 'ab', attributes => '[]'",
        "'shop', 'apns', 'ab', attributes => jsonb_build_object('a', repeat('x', 16384))", "'', 'apns', 'ab'",
        "'a b', 'apns', 'ab'", "NULL, 'apns', 'ab'",
        "repeat('a', 65), 'apns', 'ab'",
    ]

    @Test func malformedRegistrationsAreRefusedWithAHint() throws {
        for arguments in Self.malformed { expectRefusal("SELECT fanfare.register_device(\(arguments))") }
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 0)
    }

    @Test func unknownKindsAreRefusedWithAHint() {
        for kind in ["", "carrier pigeon"] {
            expectRefusal("SELECT fanfare.register_device('shop', 'apns', 'ab', kind => '\(kind)')")
        }
    }

    @Test func keysOfWebPushAreTakenAsTheDaemonTakesThem() throws {
        let plain = Self.p256dh.replacing("-", with: "+").replacing("_", with: "/")
        let taken: [(String, String)] = [
            (Self.p256dh, Self.auth), ("\(Self.p256dh)=", "\(Self.auth)=="), ("\(plain)=", Self.auth),
            ("BP\(Self.p256dh.dropFirst(2))", Self.auth),
        ]
        for (n, (p256dh, auth)) in taken.enumerated() {
            _ = try register("'shop', 'webpush', 'https://x.example/\(n)', p256dh => '\(p256dh)', auth => '\(auth)'")
        }
        let stored = try connection.column("SELECT p256dh || ' ' || auth FROM fanfare.devices WHERE token LIKE '%/1'")
        #expect(stored == ["\(Self.p256dh)= \(Self.auth)=="])
    }

    static let unusableKeys: [(String, String)] = [
        ("", ""), ("marked", auth), ("A\(p256dh.dropFirst())", auth), ("BQ\(p256dh.dropFirst(2))", auth),
        ("B*\(p256dh.dropFirst(2))", auth), ("\(p256dh.dropLast(4))", auth), ("\(p256dh)AA", auth),
        ("\(p256dh)==", auth), ("\(p256dh)\n", auth), (p256dh, "marked"), (p256dh, "\(auth)A"), (p256dh, "\(auth)="),
        (p256dh, "\(auth)\n"),
    ]

    @Test func keysThatNobodyCanEncryptForAreRefused() throws {
        let sql = "SELECT fanfare.register_device('shop', 'webpush', 'https://x.example/1', p256dh => $1, auth => $2)"
        for (p256dh, auth) in Self.unusableKeys {
            let error = #expect(throws: PostgresError.self) { try connection.query(sql, p256dh, auth) }
            #expect(error?.sqlState == "22023", "\(p256dh) \(auth)")
            #expect(error?.hint?.isEmpty == false)
            for key in [p256dh, auth] where !key.isEmpty { #expect(error?.message.contains(key) == false) }
        }
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 0)
    }

    @Test func aSubscriptionHasItsOwnKeys() throws {
        let keys = "p256dh => '\(Self.p256dh)', auth => '\(Self.auth)'"
        expectRefusal("SELECT fanfare.register_device('shop', 'webpush', 'https://x.example/1', 'ann')")
        let id = try register("'shop', 'webpush', 'https://x.example/1', 'ann', \(keys)")
        #expect(try register("'shop', 'webpush', 'https://x.example/1', locale => 'es'") == id, "its keys are there")
        #expect(try connection.text("SELECT p256dh FROM fanfare.devices") == Self.p256dh)
        expectRefusal("SELECT fanfare.register_device('shop', 'webpush', 'https://x.example/1', 'bob')")
        let rotated = "'shop', 'webpush', 'https://x.example/2', 'ann', replaces => 'https://x.example/1'"
        expectRefusal("SELECT fanfare.register_device(\(rotated))")
        #expect(try connection.column("SELECT token FROM fanfare.devices") == ["https://x.example/1"])
        #expect(try register("\(rotated), \(keys)") == id)
        #expect(try register(rotated) == id, "there is nothing to replace any more")
        // As stored by a version that did not check them.
        for stored in ["p256dh = NULL, auth = NULL", "p256dh = 'marked', auth = 'marked'"] {
            try connection.execute("UPDATE fanfare.devices SET \(stored)")
            expectRefusal("SELECT fanfare.register_device('shop', 'webpush', 'https://x.example/2')")
        }
        #expect(try register("'shop', 'webpush', 'https://x.example/2', \(keys)") == id)
    }

    @Test func onlyWebPushHasKeys() {
        for provider in ["apns", "fcm"] {
            for keys in ["p256dh => '\(Self.p256dh)', auth => '\(Self.auth)'", "auth => '\(Self.auth)'"] {
                expectRefusal("SELECT fanfare.register_device('shop', '\(provider)', 'ab', \(keys))")
            }
        }
    }

    private func expectRefusal(_ sql: String) {
        let error = connection.refusal(sql)
        #expect(
            error?.sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("42") } == true,
            "\(sql): \(error?.sqlState ?? "none")"
        )
        #expect(error?.hint?.isEmpty == false, "\(sql)")
    }

    /// A phone with newer zones than the server's must still be registered.
    @Test func unknownZonesAndLocalesAreLeftOut() throws {
        var notices: [(message: String, hint: String?)] = []
        try connection.execute("SET client_min_messages = notice")
        connection.noticeHandler = { notices.append(($0.message, $0.hint)) }
        let id = try register("'phones', 'apns', 'ab', time_zone => 'Mars/Olympus', locale => 'klingon!'")
        #expect(
            notices.map(\.message) == [
                "the app \"phones\" is new", "unknown locale 'klingon!', registered without",
                "unknown time zone 'Mars/Olympus', registered without",
            ]
        )
        #expect(notices.allSatisfy { $0.hint != nil })
        let stored = "SELECT coalesce(time_zone, '-') || ' ' || coalesce(locale, '-') FROM fanfare.devices"
        #expect(try connection.text(stored) == "- -")
        for (zone, locale) in [
            ("Europe/Madrid", "es"), ("America/Argentina/Buenos_Aires", "es_AR"),
            ("UTC", "zh-Hans_CN@calendar=chinese"), ("Etc/GMT+12", "en_US.UTF-8"),
        ] {
            #expect(try register("'phones', 'apns', 'ab', time_zone => '\(zone)', locale => '\(locale)'") == id)
            #expect(try connection.text(stored) == "\(zone) \(locale)")
        }
        notices = []
        #expect(try register("'phones', 'apns', 'ab', time_zone => '', locale => ''") == id)
        #expect(notices.isEmpty, "nothing is said")
        for zone in ["CEST", "EST5", "FOO+3", "+02:00", "posixrules", "Europe/Madrid "] {
            #expect(try register("'phones', 'apns', 'ab', time_zone => '\(zone)'") == id)
        }
        #expect(notices.count == 6)
        #expect(try connection.text(stored) == "Etc/GMT+12 en_US.UTF-8", "what was known stays")
    }

    @Test func theTokenIsNotInTheError() throws {
        let error = try #require(connection.refusal("SELECT fanfare.register_device('shop', 'apns', 'secret-zz')"))
        #expect(!"\(error)".contains("secret-zz"))
    }

    @Test func subscribing() throws {
        let ids = try (10..<13).map { try register("'shop', 'apns', 'aa\($0)', 'u'") }
        let list = "'{\(ids.map(String.init).joined(separator: ","))}'::bigint[]"
        #expect(try connection.number("SELECT fanfare.subscribe(\(ids[0]), 'team-7')") == 1)
        #expect(try connection.number("SELECT fanfare.subscribe(\(ids[0]), 'team-7')") == 0)
        #expect(try connection.number("SELECT fanfare.subscribe(\(list) || NULL, 'team-7')") == 2)
        #expect(try connection.number("SELECT fanfare.unsubscribe(\(ids[0]), 'team-7')") == 1)
        #expect(try connection.number("SELECT fanfare.unsubscribe(\(ids[0]), 'nothing')") == 0)
        #expect(try connection.number("SELECT fanfare.unsubscribe(\(list), 'team-7')") == 2)
    }

    @Test func malformedTopicsAreRefusedWithAHint() {
        for topic in ["''", "'a b'", "'/topics/x'", "NULL", "repeat('t', 901)", "E'a\\n'"] {
            expectRefusal("SELECT fanfare.subscribe('{}'::bigint[], \(topic))")
        }
    }

    @Test func subscribingWhatIsNoDeviceIsRefusedWithAHint() {
        expectRefusal("SELECT fanfare.subscribe(404, 'team-7')")
    }

    @Test func forgettingAUser() throws {
        for (n, user) in [(10, "ann"), (11, "ann"), (12, "bob")] {
            _ = try connection.query(
                "SELECT fanfare.subscribe(fanfare.register_device('shop', 'apns', $1, $2), 'news')",
                "aa\(n)",
                user
            )
        }
        _ = try register("'news', 'apns', 'aa10', 'ann'")
        #expect(try connection.number("SELECT fanfare.forget_user('shop', 'ann')") == 2)
        #expect(try connection.number("SELECT fanfare.forget_user('shop', 'ann')") == 0)
        #expect(try connection.number("SELECT count(*) FROM fanfare.subscriptions") == 1)
        #expect(try connection.column("SELECT user_id FROM fanfare.devices ORDER BY 1") == ["ann", "bob"])
    }
}
