import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Audiences that a provider manages: one delivery for each event, with device 0.
@Suite(.database)
struct NativeAudienceTests {
    static let audiences = [
        ("fcm_topic", #"{"fcm_topic": "team-{{id}}"}"#, "fcm"),
        ("fcm_condition", #"{"fcm_condition": "'team-{{id}}' in topics && !('muted' in topics)"}"#, "fcm"),
        ("channel", #"{"channel": "dHN0LXNyY2gtY2hubA=="}"#, "apns"),
    ]
    private static let channelMessage =
        #""message": {"apns": {"payload": {"aps": {"timestamp": 1, "event": "update", "content-state": {"a": 1}}}}}"#

    let world: World

    init() throws {
        world = try World()
    }

    /// Puts a rule into force, with a message that suits its audience.
    @discardableResult
    private func rule(_ name: String, event: String, to: String, _ more: String = "") throws -> Int64 {
        let message = to.contains("channel") ? [Self.channelMessage] : []
        return try world.rule(
            name,
            event: event,
            to: to,
            (message + [more]).filter { !$0.isEmpty }.joined(separator: ", ")
        )
    }

    private func batches() throws -> [[String?]] {
        try world.connection.query("SELECT event_id, event_ids, device_ids FROM fanfare.batches ORDER BY id").rows
    }

    @Test(arguments: audiences)
    func oneEventIsOneDelivery(_ key: String, to: String, provider: String) throws {
        // The app's devices and its subscriptions are irrelevant.
        let device = try world.device("aa", user: "u")
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'team-7')", "\(device)")
        try rule("r", event: "e", to: to)
        let event = try world.emit("e", #"{"id": 7}"#)
        try world.plan()
        let deliveries = try world.connection.query(
            """
            SELECT event_type, rule, rule_version, app, provider, environment, device_id, user_id, attempt, outcome
            FROM fanfare.deliveries WHERE event_id = $1
            """,
            "\(event)"
        ).rows
        #expect(deliveries == [["e", "r", "1", "shop", provider, "production", "0", nil, "1", "pending"]])
        #expect(try world.fate(event) == "planned")
        let queue = "SELECT provider || ' ' || environment || ' ' || lane || ' ' || ready FROM fanfare.queue"
        #expect(try world.connection.column(queue) == ["\(provider) production normal 1"])
        let targets = try world.connection.run(SQL.allTargets())
        let batch = try #require(try world.claim().first)
        #expect(targets.first { $0.id == batch.target }?.nativeKey == key)
        #expect(targets.filter { $0.nativeKey == nil }.count == 2, "those of the device and no more")
    }

    @Test func smallEventsOfOneRuleTravelTogether() throws {
        try rule("r", event: "e", to: #"{"fcm_topic": "team-{{id}}"}"#)
        try rule("other", event: "other", to: #"{"fcm_topic": "all"}"#)
        let events = try (1...3).map { try world.emit("e", #"{"id": \#($0)}"#) }
        let other = try world.emit("other")
        try world.plan()
        let together = "{\(events.map(String.init).joined(separator: ","))}"
        #expect(try Set(batches()) == [[nil, together, "{0,0,0}"], ["\(other)", nil, "{0}"]])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.targets") == 1)
    }

    @Test func batchesAreNoLargerThanOthers() throws {
        let world = try World(settings: StageSettings(batchSize: 2))
        try world.rule("r", event: "e", to: #"{"fcm_topic": "all"}"#)
        let events = try (0..<5).map { _ in try world.emit("e") }
        try world.plan()
        let sizes = "SELECT cardinality(device_ids) FROM fanfare.batches ORDER BY 1 DESC"
        #expect(try world.connection.column(sizes) == ["2", "2", "1"])
        for event in events { #expect(try world.recipients(event) == [0]) }
    }

    @Test func eachRuleIsPlannedOnItsOwn() throws {
        try rule("topic", event: "e", to: #"{"fcm_topic": "all"}"#)
        try rule("condition", event: "e", to: #"{"fcm_condition": "'a' in topics"}"#)
        try rule("users", event: "e", to: #"{"users": "$.u"}"#)
        let device = try world.device("aa", user: "u")
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.recipients(event) == [0, 0, device])
    }

    @Test(arguments: [
        (#"{"fcm_topic": "team-{{id}}"}"#, #"{"id": "no name!"}"#), (#"{"fcm_topic": "team-{{id}}"}"#, "{}"),
        (#"{"fcm_condition": "'team-{{id}}' in topics"}"#, #"{"id": "a' in topics || 'b"}"#),
        (#"{"channel": "{{id}}"}"#, #"{"id": "no base64!"}"#), (#"{"channel": "{{id}}"}"#, #"{"id": ""}"#),
    ])
    func anEventThatGivesNoTargetIsRefused(_ to: String, payload: String) throws {
        try rule("r", event: "e", to: to)
        let refused = try world.emit("e", payload)
        let good = try world.emit("e", #"{"id": "abcd"}"#)
        try world.plan()
        #expect(try world.fate(refused) == "refused")
        #expect(try world.detail(refused)?.hasPrefix("rule r: ") == true)
        #expect(try world.recipients(refused).isEmpty)
        #expect(try world.fate(good) == "planned")
        #expect(try world.recipients(good) == [0])
    }

    @Test func duplicatesAndLateEventsHaveNoDelivery() throws {
        try rule("r", event: "e", to: #"{"fcm_topic": "all"}"#)
        try world.connection.execute("UPDATE fanfare.rule_versions SET rule_created_at = now() - interval '9 days'")
        let first = try world.emit("e", key: "k")
        let second = try world.emit("e", key: "k")
        let late = try world.connection.number(
            """
            INSERT INTO fanfare.outbox (type, payload, ttl, created_at)
            VALUES ('e', '{}', '1 min', now() - interval '10 min') RETURNING id
            """
        )
        try world.plan()
        #expect(try [first, second, late].map { try world.fate($0) } == ["planned", "duplicate", "expired"])
        #expect(try [first, second, late].map { try world.recipients($0) } == [[0], [], []])
    }

    @Test func onlyWhoServesTheProviderClaims() throws {
        try world.device("aa", user: "u")
        try rule("topic", event: "e", to: #"{"fcm_topic": "all"}"#)
        let channel = try rule("channel", event: "e", to: Self.audiences[2].1)
        let users = try rule("users", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        // A daemon with credentials for APNs alone.
        let served = try world.connection.run(SQL.allTargets()).filter { $0.provider == "apns" }
        let queue = SendQueue(lane: .normal, isRetry: false)
        let requests = served.map { BatchRequest(target: $0.id, queue: queue, count: 9, floor: .minusInfinity) }
        let claimed = try world.connection.run(ClaimBatches(requests: requests, owner: 1, leaseToken: 1))
        #expect(Set(claimed.map { Int64($0.ruleVersion) }) == [channel, users])
        #expect(Set(claimed.map(\.target)).count == 2, "what has no device has a target of its own")
    }
}
