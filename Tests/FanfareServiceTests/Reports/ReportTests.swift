import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareStore

/// What devices report: who is believed, and that each report counts once.
@Suite(.database)
struct ReportTests {
    private static let users = #"{"users": "$.u"}"#

    private func send(_ payload: String, on world: World) throws -> Int64 {
        let event = try world.emit("chat", payload)
        try world.plan()
        try world.answer()
        return event
    }

    /// Makes the retry of the only batch in the log, which the provider accepts.
    private func acceptRetry(of event: Int64, on world: World) throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (parent_id, event_id, rule_version, target_id, lane, attempt, device_ids)
            SELECT id, \(event), rule_version, target_id, lane, 2, device_ids FROM fanfare.batch_log
            """
        )
        try world.answer()
    }

    @Test func aReportCountsOnceForEachDeviceAndKind() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        let phone = try world.device("android:x", user: "ann", provider: "fcm")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let event = try send(#"{"u": "ann"}"#, on: world)
        for _ in 0..<3 {
            for kind in [0, 2] { #expect(try world.report(kind, of: ann, event: event)) }
            #expect(try world.report(2, of: phone, event: event))
            try world.foldReports()
        }
        #expect(try world.reportCounts() == ["0:1", "2:2"])
        let shown = "SELECT array_to_string(reports, ' ') FROM fanfare.deliveries ORDER BY device_id"
        #expect(try world.connection.column(shown) == ["received opened", "opened"])
        let funnel = "SELECT received || ' ' || opened || ' ' || dismissed FROM fanfare.funnel(\(event))"
        #expect(try world.connection.column(funnel) == ["1 2 0"])
        let told = [
            "The provider accepted the push, and the device reported: opened.",
            "The provider accepted the push, and the device reported: received, opened.",
        ]
        let why = "SELECT DISTINCT detail FROM fanfare.why(\(event), 'ann') WHERE outcome = 'accepted' ORDER BY 1"
        #expect(try world.connection.column(why) == told)
        let pushes =
            "SELECT detail FROM fanfare.user_pushes('ann') WHERE detail LIKE '%: received, opened.' OR detail LIKE '%: opened.'"
        #expect(try world.connection.column(pushes).count == 2)
    }

    /// Events that are planned together share batches: a bit belongs to one of them.
    @Test func eventsThatShareABatchCountSeparately() throws {
        let world = try World()
        let devices = try (0..<9).map { try world.device("ab\($0)0", user: "u\($0)") }
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let events = try (0..<18).map { try world.emit("chat", #"{"u": "u\#($0 % 9)"}"#) }
        try world.plan()
        try world.answer()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batch_log WHERE event_id IS NULL") > 0)
        for number in [3, 12] { try world.report(2, of: devices[3], event: events[number]) }
        // The device did not get this one.
        try world.report(2, of: devices[3], event: events[4])
        #expect(try world.reportCounts() == ["2:2"])
        let opened = "SELECT event_id FROM fanfare.deliveries WHERE 'opened' = ANY (reports) ORDER BY 1"
        #expect(try world.connection.column(opened) == [events[3], events[12]].map { String($0) })
        #expect(try world.connection.column("SELECT opened FROM fanfare.funnel(\(events[12]))") == ["1"])
    }

    @Test func aRetriedDeliveryCountsInItsLastBatch() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let event = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        try world.answer("35")
        try acceptRetry(of: event, on: world)
        try world.report(2, of: ann, event: event)
        try world.foldReports()
        let attempts = "SELECT attempt FROM fanfare.deliveries WHERE 'opened' = ANY (reports)"
        #expect(try world.connection.column(attempts) == ["2"])
    }

    /// The receipt may be reported before the response of the provider was lost.
    @Test func aDeliveryThatIsReportedBeforeAndAfterItsRetryCountsOnce() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        try world.rule(
            "chat",
            event: "chat",
            to: Self.users,
            #""report": true, "variants": [{"name": "a"}, {"name": "b", "weight": 0}]"#
        )
        let event = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        try world.connection.execute("UPDATE fanfare.batches SET owner = 1, lease_token = 1")
        for kind in [0, 2] { try world.report(kind, of: ann, event: event) }
        try world.foldReports()
        try world.answer("39")
        try acceptRetry(of: event, on: world)
        for kind in [0, 4] { try world.report(kind, of: ann, event: event) }
        #expect(try world.reportCounts() == ["0:1", "2:1", "4:1"])
        let people = "SELECT people || ' ' || reporting || ' ' || opened FROM fanfare.arms(\(event))"
        #expect(try world.connection.column(people) == ["1 1 1"])
    }

    /// All recipients have the same handle, so a recipient can report before the push is sent to it.
    @Test func aPushThatWaitsCannotBeReported() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true, "as_event": "notification.action""#)
        let event = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        let waiting = [
            "not_before = now() + interval '1 hour'",
            "not_before = now(), gate_id = (SELECT id FROM fanfare.gates)",
        ]
        try world.connection.execute(
            "INSERT INTO fanfare.gates (rule_id, state) SELECT rule_id, 'held' FROM fanfare.rule_versions"
        )
        for place in waiting {
            try world.connection.execute("UPDATE fanfare.batches SET \(place)")
            try world.report(2, of: ann, event: event)
            try world.report(3, of: ann, event: event, action: "yes")
            #expect(try world.reportCounts() == [])
            #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
        }
        // Quiet hours held it, which is an attempt of its own in the log.
        try world.connection.execute(
            "UPDATE fanfare.batches SET not_before = now() + interval '1 hour', gate_id = 0, attempt = 2"
        )
        try world.connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device, last_device,
                rule_version, device_ids, outcomes)
            SELECT fanfare.ring_day(b.id), b.lane, b.target_id, 1, b.id - 1, b.event_id, b.created_at, \(ann), \(ann), b.rule_version, b.device_ids,
                set_byte('\\x00'::bytea, 0, 47) FROM fanfare.batches AS b
            """
        )
        try world.report(2, of: ann, event: event)
        try world.report(3, of: ann, event: event, action: "yes")
        #expect(try world.reportCounts() == [])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
        // The daemon that sent it was killed, and its batch was released.
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now()")
        try world.report(3, of: ann, event: event, action: "yes")
        #expect(try world.reportCounts() == ["3:1"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 1)
    }

    @Test func onlyDevicesThatGotThePushCount() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        let bob = try world.device("aa11", user: "bob")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let event = try world.emit("chat", #"{"u": ["ann", "cyd"]}"#)
        let cyd = try world.device("aa12", user: "cyd")
        try world.plan()
        try world.answer("CASE WHEN d = \(cyd) THEN 8 ELSE 1 END")
        for device in [bob, cyd] { #expect(try world.report(2, of: device, event: event), "its key is its own") }
        #expect(try world.report(3, of: bob, event: event, action: "yes"))
        #expect(try world.reportCounts() == [])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
        // Late: the push was sent more than seven days ago.
        try world.connection.execute("UPDATE fanfare.batch_log SET closed_at = now() - interval '7 days 1 minute'")
        try world.report(2, of: ann, event: event)
        try world.report(3, of: ann, event: event, action: "yes")
        #expect(try world.reportCounts() == [])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 0)
    }

    @Test func forgedHandlesAndVoidKeysCountNothing() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        let bob = try world.device("aa11", user: "bob")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let event = try send(#"{"u": ["ann", "bob"]}"#, on: world)
        let handle =
            try world.connection.text(
                "SELECT fanfare.report_handle(\(event), (SELECT max(id) FROM fanfare.rule_versions), 0)"
            ) ?? ""
        let key = try world.connection.text("SELECT split_part(fanfare.report_key(\(ann)), '.', 2)") ?? ""
        #expect(handle.utf8.count == ReportKey.handleLength && key.utf8.count == 22)
        for forged in [
            "", String(handle.dropLast(4)), "B" + handle.dropFirst(),
            handle.dropLast() + (handle.last == "A" ? "B" : "A"),
        ] {
            #expect(try world.report(2, of: ann, event: event, handle: "'\(forged)'"), "the sender is genuine")
        }
        #expect(try !world.report(2, of: bob, event: event, key: "'\(key)'"), "another device's key")
        #expect(try !world.report(2, of: ann, event: event, key: "''"))
        #expect(try !world.report(2, of: ann, event: event, app: "bank"))
        #expect(try !world.report(2, of: ann, event: event, key: "''", user: "bob"))
        #expect(try !world.report(2, of: 999, event: event, key: "'\(key)'"))
        #expect(try world.reportCounts() == [])
        #expect(try world.report(2, of: ann, event: event, key: "''", user: "ann"))
        #expect(try world.reportCounts() == ["2:1"])
    }

    /// A key ends with the device's time of being enabled for its user.
    @Test func aKeyIsVoidOnceTheDeviceWasDisabledReassignedOrForgotten() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        func key() throws -> String? { try world.connection.text("SELECT fanfare.report_key(\(ann))") }
        let first = try key()
        #expect(first?.hasPrefix("\(ann).") == true)
        try world.device("aa10", user: "ann")
        #expect(try key() == first, "a renewal keeps it")
        try world.connection.execute("SELECT fanfare.unregister_device('shop', 'apns', 'aa10')")
        #expect(try key() == nil)
        try world.device("aa10", user: "ann")
        #expect(try key() != first && key() != nil)
        try world.device("aa10", user: "bob")
        #expect(try key() == nil)
        let bob = try world.connection.number("SELECT max(id) FROM fanfare.devices")
        #expect(bob != ann)
        try world.connection.execute("SELECT fanfare.forget_user('shop', 'bob')")
        #expect(try world.connection.text("SELECT fanfare.report_key(\(bob))") == nil)
    }

    @Test func keysRotateAndOldOnesVerifyUntilTheyAreVoid() throws {
        let world = try World()
        let ann = try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, #""report": true"#)
        let event = try send(#"{"u": "ann"}"#, on: world)
        let version = "(SELECT max(id) FROM fanfare.rule_versions)"
        let handle = try world.connection.text("SELECT fanfare.report_handle(\(event), \(version), 0)") ?? ""
        let key = try world.connection.text("SELECT split_part(fanfare.report_key(\(ann)), '.', 2)") ?? ""
        try world.connection.execute("SELECT fanfare.rotate_report_keys()")
        #expect(try world.connection.text("SELECT fanfare.report_handle(\(event), \(version), 0)") != handle)
        #expect(try world.report(2, of: ann, event: event, key: "'\(key)'", handle: "'\(handle)'"))
        #expect(try world.reportCounts() == ["2:1"])
        try world.connection.execute(
            "UPDATE fanfare.report_keys SET retired_at = now() - interval '91 days' WHERE retired_at IS NOT NULL"
        )
        #expect(try !world.report(0, of: ann, event: event, key: "'\(key)'"))
        try world.report(0, of: ann, event: event, handle: "'\(handle)'")
        #expect(try world.reportCounts() == ["2:1"])
        try world.connection.execute("SELECT fanfare.rotate_report_keys(true)")
        #expect(try !world.report(0, of: ann, event: event, key: "'\(key)'", handle: "'\(handle)'"))
        #expect(try world.report(0, of: ann, event: event, handle: "'\(handle)'"))
        #expect(try world.reportCounts() == ["2:1"])
        // A copy that is adopted signs with a key of its own.
        try world.connection.execute("SELECT fanfare.adopt('original')")
        let before = try world.connection.text("SELECT max(created_at) FROM fanfare.report_keys")
        try world.connection.execute("SELECT fanfare.adopt('copy')")
        #expect(try world.connection.text("SELECT max(created_at) FROM fanfare.report_keys") != before)
    }

    @Test func theDaemonSignsAsTheDatabaseDoes() throws {
        let world = try World()
        let row = try #require(try world.connection.run(SQL.liveReports()).first)
        let key = try #require(ReportKey(id: row.keyID, secret: row.secret))
        for (event, version, variant) in [(Int64(1), Int32(1), 0), (10_840_497_455_126, 70_000, 15), (.max, .max, 255)]
        {
            let made = try world.connection.text("SELECT fanfare.report_handle(\(event), \(version), \(variant))")
            #expect(key.handle(event: event, ruleVersion: version, variant: variant) == made)
        }
        #expect(key.handle(event: 1, ruleVersion: 1, variant: 256) == nil)
        try world.connection.execute("SELECT fanfare.put_policy('shop', '{\"report\": true}')")
        #expect(try world.connection.run(SQL.liveReports()).first?.apps == ["shop"])
    }
}
