import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareStore

/// Reports that meet each other, and users who are forgotten while their reports are stored.
@Suite(.database)
struct ReportRaceTests {
    private let world: World
    private let ann: Int64
    private let bob: Int64
    private let events: [Int64]

    init() throws {
        world = try World()
        ann = try world.device("aa10", user: "ann")
        bob = try world.device("aa11", user: "bob")
        try world.rule(
            "chat",
            event: "chat",
            to: #"{"users": "$.u"}"#,
            #""report": true, "report_text": true, "as_event": "notification.action""#
        )
        var events: [Int64] = []
        for _ in 0..<2 { events.append(try world.emit("chat", #"{"u": ["ann", "bob"]}"#)) }
        self.events = events
        try world.plan()
        try world.answer()
    }

    /// Runs a statement in a session of its own, and returns once it waits for a lock or has ended.
    private func begin(_ sql: String, as name: String = "second", _ refusal: Locked<String?>) throws -> WorkerThread {
        let isDone = Locked(false)
        let thread = WorkerThread.start(name: name) { [database = TestDatabase.current] in
            do {
                let connection = try database.connect()
                try connection.execute("SET application_name = '\(name)'")
                try connection.execute(sql)
            } catch {
                refusal.withLock { $0 = "\(error)" }
            }
            isDone.withLock { $0 = true }
        }
        let other = try TestDatabase.current.connect()
        let isWaiting = """
            SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = '\(name)' AND wait_event_type = 'Lock')
            """
        while try !isDone.withLock(\.self) && other.text(isWaiting) != "t" {}
        return thread
    }

    /// Returns a call that stores an action of both devices, the first one on the first event.
    private func actions(_ action: String, of devices: [Int64]) throws -> String {
        let reports = try zip(events, devices).map { event, device in
            let key = try world.connection.text(
                "SELECT encode(decode(translate(split_part(fanfare.report_key(\(device)), '.', 2), '-_', '+/') || '==', 'base64'), 'hex')"
            )
            return (device, key ?? "", event)
        }
        func array(_ values: [String], _ type: String) -> String {
            "ARRAY[\(values.joined(separator: ", "))]::\(type)[]"
        }
        let handle =
            "decode(translate(fanfare.report_handle(%, (SELECT max(id) FROM fanfare.rule_versions)), '-_', '+/'), 'base64')"
        return """
            SELECT fanfare.take_reports('{shop,shop}', \(array(reports.map { "\($0.0)" }, "bigint")),
                \(array(reports.map { "'\\x\($0.1)'" }, "bytea")), '{"",""}',
                \(array(reports.map { handle.replacing("%", with: "\($0.2)") }, "bytea")), '{3,3}',
                '{\(action),\(action)}', ARRAY[now(), now()], '{secret,secret}')
            """
    }

    /// Rates belong to people, so they are locked in the order of people and not of events.
    @Test func actionsOfTheSamePeopleInAnotherOrderDoNotDeadlock() throws {
        // Holds the second of the first call's two locks back.
        let gate = try TestDatabase.current.connect()
        try gate.execute(
            """
            BEGIN; INSERT INTO fanfare.report_actions (day, event_id, device_id, action, rule_version, variant, at)
            SELECT fanfare.ring_day(\(events[1])), \(events[1]), \(bob), 'x', 1, 0, now()
            """
        )
        let refusals = [Locked<String?>(nil), Locked<String?>(nil)]
        let one = try begin(actions("x", of: [ann, bob]), as: "one", refusals[0])
        let two = try begin(actions("y", of: [bob, ann]), as: "two", refusals[1])
        try gate.execute("ROLLBACK")
        one.join()
        two.join()
        #expect(refusals.map { $0.withLock(\.self) } == [nil, nil])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.report_actions") == 4)
    }

    /// Runs one statement in an open transaction and begins another in a second session; then the first one commits.
    private func run(_ first: String, thenInAnotherSession second: String) throws {
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; " + first)
        let refusal = Locked<String?>(nil)
        let thread = try begin(second, refusal)
        try other.execute("COMMIT")
        thread.join()
        #expect(refusal.withLock(\.self) == nil)
    }

    @Test func nothingRemainsOfAnActionThatIsStoredWhileItsUserIsForgotten() throws {
        try run(actions("reply", of: [ann, bob]), thenInAnotherSession: "SELECT fanfare.forget_user('shop', 'ann')")
        #expect(try world.connection.column("SELECT device_id FROM fanfare.report_actions") == ["\(bob)"])
        #expect(try world.connection.column("SELECT user_id FROM fanfare.report_rates") == ["bob"])
    }

    @Test func anActionOfAUserWhoIsBeingForgottenIsNotStored() throws {
        try run("SELECT fanfare.forget_user('shop', 'ann')", thenInAnotherSession: actions("reply", of: [ann, bob]))
        #expect(try world.connection.column("SELECT device_id FROM fanfare.report_actions") == ["\(bob)"])
        #expect(try world.connection.column("SELECT user_id FROM fanfare.report_rates") == ["bob"])
    }

    @Test func reportsThatWaitLeaveNothingOnceTheirUserIsForgottenOrNotTracked() throws {
        try world.report(0, of: ann, event: events[0])
        try world.report(0, of: bob, event: events[0])
        _ = try world.connection.query(
            "SELECT fanfare.forget_user('shop', 'ann'), fanfare.set_tracking('shop', 'bob', false)"
        )
        try world.foldReports()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.reporting_devices") == 0)
        #expect(
            try world.connection.column(
                "SELECT DISTINCT array_to_string(reports, ' ') FROM fanfare.deliveries WHERE device_id = \(bob)"
            ) == [""]
        )
    }

    @Test func aFoldLeavesOutAUserWhoIsBeingForgotten() throws {
        try world.report(0, of: ann, event: events[0])
        try run("SELECT fanfare.forget_user('shop', 'ann')", thenInAnotherSession: "SELECT fanfare.fold_reports()")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.reporting_devices") == 0)
    }
}
