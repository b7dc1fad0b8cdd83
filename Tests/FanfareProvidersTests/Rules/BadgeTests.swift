import FanfareCore
import Testing

@testable import FanfareProviders

/// The place of a user's badge count in messages.
struct BadgeTests {
    private static let sql = "SELECT user_id, n FROM public.unread WHERE user_id = ANY ($1)"

    private func body(
        _ message: JSONValue,
        _ provider: PushProvider,
        badge: Int64? = 7,
        to: JSONValue = ["everyone": true]
    ) throws -> JSONValue {
        let source = rule(message: message, ["badge_sql": .string(Self.sql)]).setting("to", to: to)
        let push = try CompiledRule(json: source).render(
            event(),
            provider: provider,
            kind: .device,
            locale: nil,
            identity: .init(topic: "com.example.shop"),
            badge: badge
        )
        guard provider == .fcm else { return try JSONValue(parsing: push.body) }
        return try #require(push.request(to: .token("t"))["message"])
    }

    @Test func aCountTakesThePlaceOfTheMessagesOwn() throws {
        let message: JSONValue = [
            "notification": ["title": "T"], "apns": ["payload": ["aps": ["badge": 1]]], "data": ["badge": "x"],
        ]
        #expect(try body(message, .apns)["aps"]?["badge"] == 7)
        #expect(try body(message, .apns, badge: 0)["aps"]?["badge"] == 0)
        #expect(try body(message, .apns, badge: nil)["aps"]?["badge"] == 1)
        #expect(try body(message, .fcm)["apns"]?["payload"]?["aps"]?["badge"] == 7)
        #expect(try body(message, .fcm)["android"]?["notification"] == ["notification_count": 7])
        #expect(try body(message, .fcm, badge: nil)["android"] == nil)
        #expect(try body(message, .webpush)["data"]?["badge"] == "7")
        #expect(try body(message, .webpush, badge: nil)["data"]?["badge"] == "x")
    }

    @Test func silentMessagesStaySilent() throws {
        let silent: JSONValue = [
            "data": ["a": "b"], "apns": ["payload": ["aps": ["content-available": 1]]], "android": ["priority": "HIGH"],
        ]
        #expect(try body(silent, .apns)["aps"] == ["content-available": 1])
        let message = try body(silent, .fcm)
        #expect(message["apns"]?["payload"]?["aps"] == ["content-available": 1])
        #expect(message["android"] == ["priority": "HIGH"])
    }

    /// Also for a message with data only, with a count and for users without a row.
    @Test(arguments: [7, 0, nil] as [Int64?])
    func dataAloneStaysSilent(badge: Int64?) throws {
        let source = rule(message: ["data": ["a": "b"]], ["badge_sql": .string(Self.sql)])
        let push = try CompiledRule(json: source).render(
            event(),
            provider: .apns,
            kind: .device,
            locale: nil,
            identity: .init(topic: "com.example.shop"),
            badge: badge
        )
        #expect(try JSONValue(parsing: push.body) == ["a": "b", "aps": ["content-available": 1]])
        #expect(push[header: "apns-push-type"] == "background" && push[header: "apns-priority"] == "5")
        #expect(try body(["data": ["a": "b"]], .fcm, badge: badge)["apns"]?["payload"]?["aps"]?["badge"] == nil)
    }

    private static let wrong: [(to: JSONValue, sql: String)] = [
        (["fcm_topic": "all"], sql), (["everyone": true], "SELECT 1"), (["everyone": true], ""),
    ]

    @Test(arguments: wrong)
    func whatCannotWorkIsRefused(to: JSONValue, sql: String) throws {
        let source = rule(message: ["notification": ["title": "T"]], ["badge_sql": .string(sql)])
        let problem = #expect(throws: RuleProblem.self) { try CompiledRule(json: source.setting("to", to: to)) }
        #expect(problem?.path == "badge_sql")
    }

    @Test func theQueryIsPartOfTheRule() throws {
        let source = rule(message: ["notification": ["title": "T"]], ["badge_sql": .string(Self.sql)])
        #expect(try CompiledRule(json: source).definition.json["badge_sql"]?.stringValue == Self.sql)
    }
}
