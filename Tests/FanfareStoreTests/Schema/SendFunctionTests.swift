import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore

/// What `fanfare.send` stores, and what it refuses.
@Suite(.database)
struct SendFunctionTests {
    private static func message(_ more: String = "", to: String = #"{"users": "ada"}"#, title: String = "T") -> String {
        #"{"app": "shop", "to": \#(to), "message": {"notification": {"title": "\#(title)"}}\#(more)}"#
    }

    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    @discardableResult
    private func send(_ message: String) throws -> Int64 {
        try connection.number("SELECT fanfare.send($1::jsonb)", message)
    }

    /// Returns the error of a message; nil if it is sent.
    private func refusal(_ message: String) -> PostgresError? {
        do throws(PostgresError) {
            _ = try connection.query("SELECT fanfare.send($1::jsonb)", message)
            return nil
        } catch {
            return error
        }
    }

    @Test func aThousandTextsAreOneShape() throws {
        try connection.execute(
            """
            SELECT count(fanfare.send(jsonb_build_object('app', 'shop', 'to', jsonb_build_object('users', 'u' || i),
                'collapse', 'c' || i, 'key', 'k' || i, 'ttl', i || 's',
                'message', jsonb_build_object('notification', jsonb_build_object('title', 'Order ' || i, 'body', repeat('x', i)),
                    'data', jsonb_build_object('order', i::text),
                    'apns', jsonb_build_object('payload', jsonb_build_object('aps', jsonb_build_object('badge', i), 'order', i))))))
            FROM generate_series(1, 1000) AS i
            """
        )
        #expect(try connection.number("SELECT count(*) FROM fanfare.shapes") == 1)
        #expect(try connection.number("SELECT count(*) FROM fanfare.rule_versions") == 1)
        #expect(try connection.number("SELECT count(DISTINCT payload ->> 'texts') FROM fanfare.outbox") == 1000)
        let stored = "SELECT type || ' ' || key || ' ' || ttl || ' ' || own FROM fanfare.outbox ORDER BY id LIMIT 1"
        #expect(try connection.text(stored) == "send.shop k1 PT1S true")
    }

    @Test(arguments: [
        #", "lane": "bulk""#, #", "category": "news""#, #", "collapse": "c""#,
    ])
    func anOptionMakesAShape(more: String) throws {
        try send(Self.message())
        try send(Self.message(more))
        try send(Self.message(more, title: "other"))
        #expect(try connection.number("SELECT count(*) FROM fanfare.shapes") == 2)
    }

    /// Each place holds a text; what is beside it in the rule is a template.
    @Test(arguments: [
        #"{"notification": {"title": "{{x}}", "body": "b", "image": "i"}}"#,
        #"{"data": {"a.b": "1", "a b": "2", "a-b": "3"}}"#,
        #"{"android": {"notification": {"tag": "t", "title_loc_key": "{{k}}", "title_loc_args": ["1", "{{#a}}"]}}}"#,
        #"{"apns": {"payload": {"aps": {"alert": "{{{", "badge": 3, "thread-id": "t"}, "order": {"id": 7, "new": true}}}}"#,
        #"{"webpush": {"notification": {"title": "t", "data": {"n": [1, "{{x}}"]}}, "fcm_options": {"link": "https://a.example/1"}}}"#,
        #"{"webhook": {"data": {"order": {"id": 7}}}}"#,
    ])
    func textsAreTakenFromTheirPlacesAsTheyAre(message: String) throws {
        let parts = try connection.query(
            """
            SELECT jsonb_path_exists(rule -> 'message', '$.** ? (@.type() == "string" && @ like_regex "[{][{](?!texts[.][A-Za-z0-9_-]+[}][}]$)")'),
                (SELECT array_agg(x #>> '{}' ORDER BY x #>> '{}') FROM jsonb_path_query(payload -> 'texts', '$.*') AS x)::text
            FROM fanfare.split_message(jsonb_build_object('app', 'shop', 'to', '{"users": "ada"}'::jsonb, 'message', $1::jsonb))
            """,
            message
        ).rows[0]
        #expect(parts[0] == "f", "no template but those of the texts")
        let texts = try connection.text(
            """
            SELECT array_agg(x #>> '{}' ORDER BY x #>> '{}')::text FROM jsonb_path_query($1::jsonb, 'strict $.**') AS x
            WHERE jsonb_typeof(x) IN ('string', 'number', 'boolean')
            """,
            message
        )
        #expect(parts[1] == texts, "all of them, each once")
    }

    /// These stay in the shape, where a daemon checks them.
    @Test(arguments: [
        ##"{"android": {"priority": "high", "ttl": "3s", "collapse_key": "c", "notification": {"sound": "s", "color": "#aabbcc"}}}"##,
        #"{"apns": {"headers": {"apns-priority": "5"}, "payload": {"aps": {"sound": "s", "category": "c", "badge": -1, "content-available": 1}}}}"#,
        #"{"webpush": {"headers": {"TTL": "5"}, "fcm_options": {"link": "http://a.example"}}}"#,
        #"{"notification": {"title": "", "body": null}, "data": {"n": 7}}"#,
    ])
    func otherValuesAreTheShape(message: String) throws {
        let rule = try connection.text(
            "SELECT rule -> 'message' = $1::jsonb FROM fanfare.split_message(jsonb_build_object('message', $1::jsonb))",
            message
        )
        #expect(rule == "t")
    }

    @Test func twoTransactionsThatStoreAShapeWaitForNeither() throws {
        let other = try TestDatabase.current.connect()
        try send(Self.message(title: "creates the app"))
        try connection.execute("BEGIN; SET LOCAL lock_timeout = '1ms'")
        try other.execute("BEGIN; SET LOCAL lock_timeout = '1ms'")
        try send(Self.message(#", "lane": "bulk""#))
        _ = try other.query("SELECT fanfare.send($1::jsonb)", Self.message(#", "category": "a""#))
        try send(Self.message(#", "category": "a""#))
        _ = try other.query("SELECT fanfare.send($1::jsonb)", Self.message(#", "lane": "bulk""#))
        try connection.execute("COMMIT")
        try other.execute("COMMIT")
        let shapes = "SELECT count(*) || ' ' || count(DISTINCT hash) FROM fanfare.shapes"
        #expect(try connection.text(shapes) == "5 3", "each stored its own, and an event names one")
        try send(Self.message(#", "lane": "bulk""#))
        #expect(try connection.text(shapes) == "5 3")
    }

    static let refused = [
        ("[]", "a message is a JSON object"), ("null", "a message is a JSON object"),
        (message(#", "x": 1"#), "x: unknown key"), (message(to: #"{"user": "a"}"#), "to.user: unknown key"),
        (#"{"to": {"users": "a"}, "message": {}}"#, "app: is missing"),
        (#"{"app": "a b", "to": {"users": "a"}, "message": {}}"#, "app: cannot be a name"),
        (#"{"app": "shop", "message": {}}"#, "to: is missing"),
        (#"{"app": "shop", "to": {"users": "a"}}"#, "message: is missing"),
        (#"{"app": "shop", "to": {"users": "a"}, "message": "Hello"}"#, "message: is not an object"),
        (message(to: #""ada""#), "to: is not an object"), (message(to: "{}"), "to: names no audience"),
        (message(to: #"{"users": "a", "topic": "t"}"#), "to: has users and topic"),
        (message(to: #"{"users": ""}"#), "to.users: is neither a user nor a list of users"),
        (message(to: #"{"users": "undefined"}"#), "to.users: is neither a user nor a list of users"),
        (message(to: #"{"users": []}"#), "to.users: is neither a user nor a list of users"),
        (message(to: #"{"users": ["a", null]}"#), "to.users: is neither a user nor a list of users"),
        (message(to: #"{"users": {"id": 7}}"#), "to.users: is neither a user nor a list of users"),
        (message(to: #"{"tokens": true, "provider": "apns"}"#), "to.tokens: is neither a token nor a list of tokens"),
        (message(to: #"{"users_sql": "SELECT 1"}"#), "to.users_sql: unknown key"),
        (message(to: #"{"topic": "a b"}"#), "to.topic: is not a topic name"),
        (message(to: #"{"topic": 7}"#), "to.topic: is not a string"),
        (message(to: #"{"fcm_topic": "/topics/a"}"#), "to.fcm_topic: is not a topic name"),
        (message(to: #"{"channel": "ä"}"#), "to.channel: is not a channel id"),
        (message(to: #"{"condition": "'{{x}}' in topics"}"#), "to.condition: has a template"),
        (message(to: #"{"everyone": false}"#), "to.everyone: is not true"),
        (message(to: #"{"users": "a", "devices": "@.x"}"#), "to.devices: is not a jsonpath"),
        (message(to: #"{"users": "a", "kind": "phone"}"#), "to.kind: 'phone' is not one of its values"),
        (message(#", "at": "tomorrow""#), "at: 'tomorrow' is neither a time nor a duration"),
        (message(#", "at": "2199-12-01T09:00:00Z""#), "at: is more than 10 years ahead"),
        (message(#", "at": 7"#), "at: "),
        (message(#", "key": """#), "key: is empty"), (message(#", "key": 7"#), "key: is not a string"),
        (message(#", "key": "null""#), "key: cannot be 'null'"),
        (message(#", "key": "\#(String(repeating: "k", count: 2049))""#), "key: has more than 2048 bytes"),
        (message(#", "ttl": "soon""#), "ttl: is not a duration"), (message(#", "ttl": 60"#), "ttl: is not a duration"),
        (message(#", "category": "a b""#), "category: cannot be a category"),
        (message(#", "lane": "fast""#), "lane: 'fast' is not one of its values"),
        (message(#", "collapse": """#), "collapse: is empty"),
        (message(#", "collapse": 7"#), "collapse: is not a string"),
        (message(#", "collapse": "\#(String(repeating: "c", count: 513))""#), "collapse: has more than 512 bytes"),
        (message(#", "category": "a""#, to: #"{"fcm_topic": "all"}"#), "category: differs by user"),
        (message(title: String(repeating: "x", count: 65_536)), "the message is"),
    ]

    /// Before the shape is known, and after.
    @Test(arguments: refused)
    func whatCannotBeSentIsRefusedWithItsPlaceAndAHint(message: String, reason: String) throws {
        for _ in 0..<2 {
            let error = try #require(refusal(message))
            #expect(error.sqlState == "22023")
            #expect(error.message.hasPrefix(reason), "\(error.message)")
            #expect(error.hint?.isEmpty == false)
            try send(Self.message())
            try send(Self.message(#", "key": "k", "ttl": "4h", "collapse": "c""#, to: #"{"topic": "news"}"#))
        }
        #expect(try connection.number("SELECT count(*) FROM fanfare.outbox") == 4)
    }

    @Test func anAppHasAThousandShapes() throws {
        try connection.execute(
            """
            SELECT count(fanfare.send(jsonb_build_object('app', 'shop', 'to', '{"users": "ada"}'::jsonb,
                'message', jsonb_build_object('data', jsonb_build_object('k' || i, 'v')))))
            FROM generate_series(1, 1000) AS i
            """
        )
        let error = try #require(refusal(Self.message()))
        #expect(error.message == "message: has a shape of its own, and the app has 1000 others")
        #expect(error.hint?.contains("Messages share a shape if") == true)
        try send(Self.message().replacing("shop", with: "bank"))
        try send(#"{"app": "shop", "to": {"users": "bob"}, "message": {"data": {"k7": "other"}}}"#)
    }

    @Test func onlyAuthorsAndThoseWhoMayExecuteItSend() throws {
        try connection.execute("CREATE ROLE \"send only\"; GRANT USAGE ON SCHEMA fanfare TO \"send only\"")
        defer { try? connection.execute("RESET ROLE; DROP OWNED BY \"send only\"; DROP ROLE \"send only\"") }
        for role in ["fanfare_emitter", "\"send only\""] {
            try connection.execute("SET ROLE \(role)")
            #expect(refusal(Self.message())?.sqlState == "42501")
            try connection.execute("RESET ROLE")
        }
        try connection.execute("GRANT EXECUTE ON FUNCTION fanfare.send TO \"send only\"")
        for role in ["fanfare_author", "\"send only\""] {
            try connection.execute("SET ROLE \(role)")
            try send(Self.message())
            try connection.execute("RESET ROLE")
        }
        #expect(try connection.column("SELECT DISTINCT own::text FROM fanfare.outbox") == ["true"])
    }

    @Test func theTypeIsReserved() throws {
        let error = try #require(connection.refusal("SELECT fanfare.emit('send.shop')"))
        #expect(error.message == "events of type 'send.shop' are emitted by Fanfare only")
        #expect(error.hint?.contains("Choose a type") == true)
        try connection.execute("CREATE TABLE public.orders (id int PRIMARY KEY)")
        #expect(connection.refusal("SELECT fanfare.watch_table('public.orders', 'send.shop')") != nil)
        for type in ["send", "sender.shop", "order.send"] {
            _ = try connection.query("SELECT fanfare.emit($1)", type)
        }
    }

    @Test func theExamplesOfTheArticleAreSent() throws {
        let article = try Documentation.text("SQL")
        let section = try #require(article.split(separator: "## Messages without a rule\n").last)
        let block = try #require(section.firstMatch(of: /```sql\n([^`]+)```/))
        try connection.execute(String(block.1))
        let types = "SELECT string_agg(type || coalesce(' ' || key, ''), ', ' ORDER BY id) FROM fanfare.outbox"
        #expect(try connection.text(types) == "send.shop, send.shop, send.shop order-7-paid")
    }

    @Test func anAppWithAListOfEventsStillSends() throws {
        try connection.execute("SELECT fanfare.limit_events('shop', '{order.*}')")
        try send(Self.message())
        #expect(try connection.text("SELECT fanfare.may_take('shop', 'send.bank')") == "f")
    }
}
