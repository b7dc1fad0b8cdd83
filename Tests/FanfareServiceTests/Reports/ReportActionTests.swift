import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareStore

/// What users chose and typed, and the events that this emits.
@Suite(.database)
struct ReportActionTests {
    private func prepare(_ more: String) throws -> (world: World, device: Int64, event: Int64) {
        let world = try World()
        let device = try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, #""report": true"# + more)
        let event = try world.emit("chat", #"{"u": "ann"}"#, key: "chat-7")
        try world.plan()
        try world.answer()
        return (world, device, event)
    }

    @Test func anActionBecomesAnEventInItsTransaction() throws {
        let (world, device, event) = try prepare(#", "as_event": "notification.action", "report_text": true"#)
        for _ in 0..<3 { try world.report(3, of: device, event: event, action: "reply", text: "On my way") }
        try world.report(3, of: device, event: event, action: "mute")
        let emitted = "SELECT payload::text FROM fanfare.outbox WHERE type = 'notification.action' ORDER BY id"
        let payloads = try world.connection.column(emitted).map { try JSONValue(parsing: $0) }
        #expect(payloads.count == 2)
        let first = payloads[0]
        #expect(first["user_id"] == "ann" && first["action"] == "reply" && first["text"] == "On my way")
        #expect(
            first["event_id"] == .string("\(event)") && first["event_type"] == "chat" && first["event_key"] == "chat-7"
        )
        #expect(first["rule"] == "chat" && first["app"] == "shop" && first["device_id"] == .string("\(device)"))
        #expect(payloads[1]["action"] == "mute" && payloads[1]["text"] == nil)
        #expect(
            try world.connection.text("SELECT key FROM fanfare.outbox ORDER BY id LIMIT 1")
                == "report/\(event)/\(device)/reply"
        )
        let stored =
            "SELECT action || ':' || coalesce(text, '') FROM fanfare.report_actions WHERE emitted_id IS NOT NULL ORDER BY 1"
        #expect(try world.connection.column(stored) == ["mute:", "reply:On my way"])
        #expect(try world.reportCounts() == ["3:1"], "devices, not actions")
    }

    @Test func textsAreStoredOnlyWhereTheRuleSaysSo() throws {
        let (world, device, event) = try prepare(#", "as_event": "notification.action""#)
        try world.report(3, of: device, event: event, action: "reply", text: "secret")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions WHERE text IS NOT NULL") == 0)
        #expect(
            try world.connection.number("SELECT count(*) FROM fanfare.outbox WHERE payload::text LIKE '%secret%'") == 0
        )
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 1)
    }

    /// A rule for the emitted type that has `as_event` too would otherwise answer itself.
    @Test func anEventThatCameByAnActionLeadsToNoOther() throws {
        let (world, device, event) = try prepare(#", "as_event": "chat""#)
        try world.report(3, of: device, event: event, action: "reply")
        let answer = try world.connection.number("SELECT id FROM fanfare.outbox")
        try world.connection.execute("UPDATE fanfare.rule_versions SET audience = audience")
        try world.plan()
        // The emitted payload names no user of the rule, so the delivery is made by hand.
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids)
            SELECT \(answer), rule_version, target_id, lane, device_ids FROM fanfare.batch_log
            """
        )
        try world.answer()
        try world.report(3, of: device, event: answer, action: "reply")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 2)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
    }

    @Test func aUsersActionsEmitAtMostTwentyEventsAMinute() throws {
        let (world, device, event) = try prepare(#", "as_event": "notification.action""#)
        let second = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        try world.answer()
        for number in 0..<15 {
            for event in [event, second] { try world.report(3, of: device, event: event, action: "a\(number)") }
        }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 20)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 30)
        try world.connection.execute("UPDATE fanfare.report_rates SET since = since - interval '1 minute'")
        try world.report(3, of: device, event: event, action: "later")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 21)
    }

    @Test func aDeviceHasAtMostTwentyActionsOfAPush() throws {
        let (world, device, event) = try prepare("")
        for number in 0..<25 { try world.report(3, of: device, event: event, action: "a\(number)") }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 20)
        #expect(try world.reportCounts() == ["3:1"])
    }

    /// Only keys that `as_event` makes mark the events that it emitted.
    @Test(arguments: ["report/2026-11", "report/7/x"]) func aKeyThatLooksAlikeDoesNotStopTheEvent(key: String) throws {
        let (world, device, _) = try prepare(#", "as_event": "notification.action""#)
        let event = try world.emit("chat", #"{"u": "ann"}"#, key: key)
        try world.plan()
        try world.answer()
        try world.report(3, of: device, event: event, action: "reply")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 1)
    }

    @Test func whoIsNotTrackedOrForgottenLeavesNothing() throws {
        let (world, device, event) = try prepare(#", "as_event": "notification.action", "report_text": true"#)
        try world.connection.execute("SELECT fanfare.set_tracking('shop', 'ann', false)")
        #expect(try world.report(2, of: device, event: event))
        #expect(try world.report(3, of: device, event: event, action: "reply", text: "x"))
        #expect(try world.reportCounts() == [])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
        try world.connection.execute("SELECT fanfare.set_tracking('shop', 'ann', true)")
        try world.report(3, of: device, event: event, action: "reply", text: "x")
        let exported = try JSONValue(parsing: world.connection.text("SELECT fanfare.export_user('shop', 'ann')") ?? "")
        #expect(exported["actions"]?.arrayValue?.first?["text"] == "x" && exported["tracked"] == true)
        #expect(exported["devices"]?.arrayValue?.count == 1 && exported["devices"]?.arrayValue?.first?["token"] == nil)
        #expect(exported["pushes"]?.arrayValue?.count == 1)
        try world.connection.execute(
            "SELECT fanfare.set_tracking('shop', 'ann', false), fanfare.forget_user('shop', 'ann')"
        )
        for table in ["report_actions", "report_rates", "untracked_users"] {
            #expect(try world.connection.number("SELECT count(*) FROM fanfare.\(table)") == 0, "\(table)")
        }
    }

    /// An app that keeps counts only: the text reaches the application by the event, and is nowhere else.
    @Test func withoutDevicesOnlyCountsAreKept() throws {
        let (world, device, event) = try prepare(#", "as_event": "notification.action", "report_text": true"#)
        try world.connection.execute("SELECT fanfare.put_policy('shop', '{\"report_devices\": false}')")
        for _ in 0..<2 {
            try world.report(2, of: device, event: event)
            try world.report(3, of: device, event: event, action: "reply", text: "x")
            #expect(try world.reportCounts() == ["2:1", "3:1"])
        }
        #expect(
            try world.connection.column("SELECT DISTINCT array_to_string(reports, ' ') FROM fanfare.deliveries") == [""]
        )
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions WHERE text IS NOT NULL") == 0)
        #expect(try world.connection.text("SELECT payload ->> 'text' FROM fanfare.outbox") == "x")
        // Eight days later: the rows move to the day of their ids. The batch was held for four days before it was sent.
        let past = "(((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 8)::bigint << 32)"
        let held = "(((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 12)::bigint << 32)"
        try world.connection.execute(
            """
            UPDATE fanfare.batch_log SET id = \(held) + 7, day = fanfare.ring_day(\(held)), closed_at = now() - interval '8 days';
            UPDATE fanfare.report_log SET batch_id = \(held) + 7, day = fanfare.ring_day(\(held));
            UPDATE fanfare.report_actions SET event_id = \(past) + 9, day = fanfare.ring_day(\(past));
            """
        )
        _ = try world.connection.runReturningCount(SQL.forgetReportDevices())
        for table in ["report_log", "report_actions"] {
            #expect(try world.connection.number("SELECT count(*) FROM fanfare.\(table)") == 0, "\(table)")
        }
        #expect(try world.reportCounts() == ["2:1", "3:1"])
    }

    @Test func actionsAreKeptAsLongAsTheirRetentionSays() throws {
        let (world, device, event) = try prepare("")
        try world.report(3, of: device, event: event, action: "reply")
        _ = try world.connection.runReturningCount(SQL.forgetReportActions(3))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 1)
        let past = "(((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 4)::bigint << 32)"
        try world.connection.execute(
            "UPDATE fanfare.report_actions SET event_id = \(past) + 9, day = fanfare.ring_day(\(past))"
        )
        _ = try world.connection.runReturningCount(SQL.forgetReportActions(3))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
    }

    @Test func aCampaignHasTheSameKeys() throws {
        let world = try World()
        let campaign =
            #"{"app": "shop", "name": "sale", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, "report": true, "as_event": "sale.tapped"}"#
        try world.connection.execute("SELECT fanfare.put_campaign('\(campaign)')")
        let stored = try JSONValue(parsing: campaign)
        let definition = try CampaignDefinition(json: stored)
        #expect(definition.rule.definition.reports.isOn == true && definition.json == stored)
        #expect(definition.rule.definition.reports.asEvent == "sale.tapped")
        #expect(throws: PostgresError.self) {
            try world.connection.execute(
                "SELECT fanfare.put_campaign('\(campaign.replacing("\"report\": true", with: "\"report\": false"))')"
            )
        }
    }

    @Test func aRuleThatCannotBeReportedOnIsRefused() throws {
        let world = try World()
        let cases: [(String, String)] = [
            (#""as_event": "notification.action""#, "as_event: needs report: true"),
            (#""report": false, "report_text": true"#, "report_text: needs report: true"),
            (#""report": true, "as_event": "campaign.x""#, "as_event: is a type that Fanfare reserves"),
            (#""report": 1"#, "report: is neither true nor false"),
            (#""report": true, "as_event": """#, "as_event: cannot be a name"),
        ]
        for (keys, reason) in cases {
            let rule =
                #"{"app": "shop", "name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}, \#(keys)}"#
            let error = #expect(throws: PostgresError.self) {
                try world.connection.execute("SELECT fanfare.put_rule('\(rule)')")
            }
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        }
        let native =
            #"{"app": "shop", "name": "r", "event": "e", "to": {"fcm_topic": "t"}, "message": {"data": {"a": "b"}}, "report": true}"#
        #expect(throws: PostgresError.self) { try world.connection.execute("SELECT fanfare.put_rule('\(native)')") }
    }
}
