import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct LogTailTests {
    /// Creates one planned event with one closed batch.
    private func deliver(_ type: String, outcomes: String = "\\x0141", devices: String = "{1,2}") throws -> Int64 {
        try sql("SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann')")
        try sql(
            "SELECT fanfare.put_rule(jsonb_build_object('app', 'shop', 'name', 'r-' || $1::text, 'event', $1, 'to', '{\"everyone\": true}'::jsonb, 'message', '{}'::jsonb))",
            type
        )
        try sql("UPDATE fanfare.rule_versions SET event_type = definition ->> 'event'")
        return try closeBatch(type, outcomes, devices)
    }

    private func closeBatch(_ type: String, _ outcomes: String, _ devices: String) throws -> Int64 {
        let id = try sql(
            """
            WITH e AS (
                INSERT INTO fanfare.event_log (day, fate, id, created_at, type)
                SELECT fanfare.ring_day(id), 1, id, clock_timestamp(), $1 FROM fanfare.new_event_id() AS id
                RETURNING id
            ), b AS (
                INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device,
                    last_device, rule_version, device_ids, outcomes)
                SELECT fanfare.ring_day(b), 1, (SELECT min(id) FROM fanfare.targets), 1, b, e.id, clock_timestamp(), 1, 2,
                    (SELECT v.id FROM fanfare.rule_versions AS v WHERE v.event_type = $1), $3::bigint[], $2::bytea
                FROM e, fanfare.new_batch_id() AS b
            )
            SELECT id FROM e
            """,
            type,
            outcomes,
            devices
        )
        return try #require(id.first?.flatMap { Int64($0) })
    }

    @Test func whatComesIsToldOnce() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        #expect(try tail.next().isEmpty)
        let event = try deliver("order.shipped")
        let lines = try tail.next()
        #expect(lines.map(\.eventID) == [event, event, event])
        #expect(lines.first?.json["event.fate"] == "planned")
        let pushes = lines.compactMap { line -> TailLine.Push? in
            if case .push(let push) = line.subject { push } else { nil }
        }
        #expect(pushes.map(\.deviceID).sorted() == [1, 2])
        #expect(pushes.first { $0.deviceID == 1 }?.userID == "ann")
        #expect(pushes.first { $0.deviceID == 1 }?.outcome == "accepted")
        #expect(pushes.first { $0.deviceID == 2 }?.reason == "ExpiredToken")
        #expect(try tail.next().isEmpty)
        _ = try closeBatch("order.shipped", "\\x01", "{1}")
        #expect(try tail.next().count == 2)
        #expect(try tail.next().isEmpty)
    }

    @Test func anEventIsFoundInABatchOfMany() throws {
        let wanted = try deliver("a")
        let others = try (0..<2).map { _ in try closeBatch("a", "\\x01", "{1}") }
        let columns = "day, lane, target_id, attempt, id, created_at, first_device, last_device, rule_version"
        // Ordered by device, as in a batch; the wanted device is in the middle, and in no other batch.
        try sql(
            """
            INSERT INTO fanfare.batch_log (\(columns), device_ids, event_ids, outcomes)
            SELECT \(columns), '{1,2,2}', $1::bigint[], '\\x010120' FROM (
                SELECT fanfare.ring_day(id) AS day, id, lane, target_id, attempt, created_at, 1 AS first_device, 2 AS last_device,
                    rule_version
                FROM (SELECT lane, target_id, attempt, created_at, rule_version FROM fanfare.batch_log LIMIT 1) AS other,
                    (SELECT fanfare.new_batch_id() AS id) AS fresh) AS batch
            """,
            "{\(others[1]),\(wanted),\(others[0])}"
        )
        let expected: [(Int64, [Int64])] = [(wanted, [1, 2, 2]), (others[0], [1, 2]), (others[1], [1, 1])]
        for (event, devices) in expected {
            var filter = LogTail.Filter()
            filter.eventID = event
            filter.since = Since("1h")
            let pushes = try toolDatabase().tail(filter).next().compactMap { line -> Int64? in
                if case .push(let push) = line.subject, line.eventID == event { push.deviceID } else { nil }
            }
            #expect(pushes.sorted() == devices)
        }
    }

    @Test func filtersLeaveOthersOut() throws {
        let wanted = try deliver("a")
        _ = try deliver("b")
        var byType = LogTail.Filter()
        byType.eventType = "a"
        byType.since = Since("1h")
        let typed = try toolDatabase().tail(byType)
        #expect(Set(try typed.next().map(\.eventType)) == ["a"])
        #expect(try typed.next().isEmpty)
        var byID = LogTail.Filter()
        byID.eventID = wanted
        byID.since = Since("1h")
        #expect(Set(try toolDatabase().tail(byID).next().map(\.eventID)) == [wanted])
        var later = LogTail.Filter()
        later.since = Since("2999-01-01T00:00:00Z")
        #expect(try toolDatabase().tail(later).next().isEmpty)
    }

    /// Returns the lines so far that pass a filter, as outcome or fate with the device, if any.
    private func passing(_ change: (inout LogTail.Filter) -> Void) throws -> [String] {
        var filter = LogTail.Filter()
        filter.since = Since("1h")
        change(&filter)
        return try toolDatabase().tail(filter).next().map { line in
            switch line.subject {
            case .event(let fate, _, _): fate
            case .push(let push): "\(push.outcome) \(push.deviceID)"
            case .campaign(let progress): progress.state
            }
        }.sorted()
    }

    @Test func linesAreFilteredByUserAppRuleAndOutcome() throws {
        try sql(
            "SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann'), fanfare.register_device('shop', 'apns', 'aa02', 'bob')"
        )
        try sql("SELECT fanfare.register_device('store', 'apns', 'aa03', 'ann')")
        _ = try deliver("a")
        _ = try deliver("b", outcomes: "\\x20", devices: "{2}")
        #expect(try passing { _ in } == ["accepted 1", "gone 2", "planned", "planned", "retrying 2"])
        #expect(try passing { $0.user = "ann" } == ["accepted 1"])
        #expect(try passing { $0.user = "bob" } == ["gone 2", "retrying 2"])
        #expect(try passing { $0.user = "nobody" }.isEmpty)
        #expect(try passing { $0.app = "shop" }.count == 3)
        #expect(try passing { $0.app = "store" }.isEmpty)
        #expect(try passing { $0.rule = "r-b" } == ["retrying 2"])
        #expect(try passing { $0.outcomes = ["planned"] } == ["planned", "planned"])
        #expect(try passing { $0.outcomes = ["accepted"] } == ["accepted 1"])
        #expect(try passing { $0.outcomes = LogTail.Filter.failures } == ["gone 2", "retrying 2"])
        #expect(
            try passing {
                $0.outcomes = LogTail.Filter.failures
                $0.rule = "r-a"
                $0.user = "bob"
            } == ["gone 2"]
        )
    }

    @Test func whatIsFilteredOutCountsAsRead() throws {
        _ = try deliver("a", outcomes: "\\x01", devices: "{1}")
        for _ in 0..<120 { _ = try closeBatch("a", "\\x01", "{1}") }
        _ = try closeBatch("a", "\\x41", "{1}")
        #expect(try passing { $0.outcomes = ["gone"] } == ["gone 1"], "two reads before it had nothing to show")
        let failures = Set(LogTail.Filter.failures)
        #expect(failures.isSubset(of: LogTail.Filter.words) && !failures.contains("accepted"))
    }

    @Test(arguments: [
        "garbage", "2x", "", "2026-13-45", "2026-11-21T13:00:00+99", "2026-11-21T13:00:00 Mars/Base", "infinity",
    ])
    func whatIsNoTimeIsAMistakeOfUsage(since: String) throws {
        var filter = LogTail.Filter()
        filter.since = Since(since)
        let error = #expect(throws: ToolError.self) { try toolDatabase().tail(filter) }
        #expect(error?.kind == .usage)
        #expect(error?.hint.contains("2h") == true && error?.hint.contains("2026-11-21T13:00:00Z") == true)
    }

    @Test func emptiedPartitionsAreReadAgain() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        _ = try deliver("a")
        #expect(try tail.next().count == 3)
        try sql("TRUNCATE fanfare.event_log, fanfare.batch_log")
        #expect(try tail.next().isEmpty)
        _ = try closeBatch("a", "\\x01", "{1}")
        #expect(try tail.next().count == 2)
    }

    @Test func manyBatchesComeInParts() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        _ = try deliver("a")
        for _ in 0..<120 { _ = try closeBatch("a", "\\x01", "{1}") }
        var counts: [Int] = []
        while true {
            let lines = try tail.next()
            guard !lines.isEmpty else { break }
            counts.append(lines.count)
        }
        #expect(counts.reduce(0, +) == 3 + 240)
        #expect(counts.count > 1)
    }
}

@Suite struct TailLineTests {
    private let push = TailLine(
        at: Timestamp(microseconds: 1_789_999_000_123_000),
        eventID: 7,
        eventType: "order\u{1B}[2J",
        emittedAt: Timestamp(microseconds: 1_789_999_000_100_000),
        subject: .push(
            .init(
                rule: "r",
                app: "shop",
                provider: "apns",
                environment: "production",
                deviceID: 3,
                userID: "ann",
                attempt: 2,
                outcome: "rejected",
                reason: "BadTopic",
                detail: nil,
                batchID: 9
            )
        )
    )

    @Test func aTerminalGetsColourAndNoEscapesOfOthers() {
        #expect(
            push.text(colour: false)
                == "13:56:40.123  push  rejected  order [2J  7  shop/r  user ann · apns device 3  BadTopic  attempt 2  23 ms"
        )
        #expect(push.text(colour: true).contains("\u{1B}[31mrejected\u{1B}[0m"))
        #expect(!push.text(colour: true).contains("\u{1B}[2J"))
    }

    @Test(arguments: ["\u{9B}", "\u{202E}", "\u{2066}", "\u{200F}", "\u{2028}", "\u{7}"])
    func noControlOfOthersReachesATerminal(control: String) throws {
        #expect("a\(control)b".printable == "a b")
        let text = (JSONValue.string("a\(control)b").text).printableJSON
        #expect(!text.contains(control) && text.hasPrefix("\"a\\u"))
        #expect(try JSONValue(parsing: text) == .string("a\(control)b"))
    }

    @Test func jsonHasTheKeysOfLogLines() {
        #expect(push.json["event.id"] == 7 && push.json["lag_ms"] == 23 && push.json["outcome"] == "rejected")
    }
}

@Suite struct ExplainTests {
    private static let yaml = """
        - name: shipped
          app: shop
          event: order.shipped
          to: { users: $.customer }
          message: { notification: { title: "Order {{id}}", body: "For {{user.id}}" } }
          locales: { es: { notification: { title: "Pedido {{id}}" } } }
          collapse: "order-{{id}}"
        """

    private func explain(_ change: (inout ExampleEvent) -> Void) throws -> RuleExplanation {
        let set = try RuleSet(RulesFile(yaml: Self.yaml, named: "rules.yaml").rules)
        var example = ExampleEvent(payload: #"{"id": 7}"#)
        example.userID = "ann"
        change(&example)
        return try #require(try set.explain(example) { _ in "com.example.shop" }.first)
    }

    @Test func headersAndBodyAreThoseThatWouldBeSent() throws {
        let explanation = try explain { $0.locale = "es-MX" }
        #expect(explanation.matchedLocale == "es")
        #expect(explanation.headers.first { $0.name == "apns-topic" }?.value == "com.example.shop")
        #expect(explanation.headers.first { $0.name == "apns-collapse-id" }?.value == "order-7")
        let body = try JSONValue(parsing: explanation.body)
        #expect(body["aps"]?["alert"]?["title"] == "Pedido 7")
        #expect(body["aps"]?["alert"]?["body"] == "For ann")
        #expect(explanation.text.contains("(\(explanation.body.utf8.count) bytes of body)"))
        #expect(explanation.json["body"]?["aps"]?["alert"]?["title"] == "Pedido 7")
    }

    /// The form is part of the message, so that what is shown is what is sent.
    @Test func aDeclarativeMessageIsShownAsItIsSent() throws {
        let message =
            "{notification: {title: 'Order {{id}}'}, webpush: {declarative: true, fcm_options: {link: 'https://{{host}}/'}}}"
        let yaml = "- {name: r, app: shop, event: e, to: {users: $.u, provider: webpush}, message: \(message)}"
        let set = try RuleSet(RulesFile(yaml: yaml, named: "rules.yaml").rules)
        let explained = try set.explain(ExampleEvent(payload: #"{"id": 7, "host": "a.example"}"#)) { _ in nil }
        let link = "https://a.example/"
        let body =
            #"{"web_push":8030,"notification":{"title":"Order 7","navigate":"\#(link)"},"fcm_options":{"link":"\#(link)"}}"#
        #expect(explained.map(\.body) == [body])
        let refused = try set.explain(ExampleEvent(payload: #"{"id": 7, "host": ""}"#)) { _ in nil }
        let needed = "an absolute URL that begins with https:// or http://"
        #expect(refused.map(\.problem) == ["message.webpush.fcm_options.link must be \(needed)"])
    }

    @Test func anAppThatAsksForThePreviewSeesIt() throws {
        let yaml = "- {name: r, app: shop, event: e, to: {users: $.u, provider: fcm}, message: {data: {id: x}}}"
        let set = try RuleSet(RulesFile(yaml: yaml, named: "rules.yaml").rules)
        let explained = try set.explain(ExampleEvent(payload: "{}")) { _ in
            nil
        } asksForPreview: {
            $0 == "shop"
        }
        let body = #"{"message":{"data":{"id":"x"},"android_v2":{"background_sync":{}},"token":"…"}}"#
        #expect(explained.map(\.body) == [body])
        let plain = try set.explain(ExampleEvent(payload: "{}")) { _ in nil }
        #expect(plain.map(\.body) == [body.replacing(#""android_v2":{"background_sync":{}},"#, with: "")])
    }

    @Test func dataAloneIsSaidToBeSilent() throws {
        let yaml = "{name: sync, app: shop, event: changed, to: {users: $.u}, message: {data: {id: '{{id}}'}}}"
        let set = try RuleSet(RulesFile(yaml: "- " + yaml, named: "rules.yaml").rules)
        let all = try set.explain(ExampleEvent(payload: #"{"id": 7}"#)) { _ in "com.example.shop" }
        let text = try #require(all.first { $0.provider == .apns }).text
        #expect(text.contains("apns-push-type: background") && text.contains("apns-priority: 5"), "\(text)")
        #expect(text.contains("content-available") && text.contains("(silent: "), "\(text)")
        #expect(!all.contains { $0.provider != .apns && $0.text.contains("(silent: ") })
    }

    @Test func whatIsMissingIsNamed() throws {
        let explanation = try explain { $0.payload = "{}" }
        #expect(explanation.problem == "'id' is missing or null")
        #expect(explanation.text.contains("nothing is sent: 'id' is missing or null"))
    }

    @Test func rulesAreChosenByName() throws {
        let set = try RuleSet(RulesFile(yaml: Self.yaml, named: "rules.yaml").rules)
        #expect(throws: Never.self) { try set.only(rule: "shipped", app: "shop") }
        let error = #expect(throws: ToolError.self) { try set.only(rule: "other", app: nil) }
        #expect(error?.hint == "There are: shop/shipped.")
    }
}
