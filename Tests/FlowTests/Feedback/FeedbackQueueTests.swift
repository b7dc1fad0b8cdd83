import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareFeedback
@testable import FanfareStages
@testable import FanfareStore

/// The failures of one hook do not affect others.
@Suite(.database)
struct FeedbackQueueTests {
    private let log = CapturedLog()
    private let world: World
    private let queue: FeedbackQueue
    private let hooks: [FeedbackHook]
    private let owner: Int32

    /// Creates two hooks that one daemon serves, with entries to send.
    init() throws {
        world = try World(logger: log.logger)
        queue = FeedbackQueue(logger: log.logger, bell: Bell())
        var settings = Configuration.Feedback()
        settings.channel = "fanfare_feedback"
        hooks = try FeedbackHook.read(["ears": settings, "late": settings], environment: [:])
        let enter = EnterInstance(
            daemon: "d",
            host: "h",
            pid: 1,
            version: "v",
            leaseMicroseconds: 60 * Micros.minute,
            schemaVersion: 1
        )
        _ = try world.connection.run(enter)
        owner = try #require(Int32(exactly: try world.connection.number("SELECT id FROM fanfare.instances")))
        // The first turn registers the hooks, the second acquires them for this daemon.
        for _ in 0..<2 { try turn() }
        let version = try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let device = try world.device("ab01", user: "u")
        try world.connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                last_device, device_ids, outcomes)
            SELECT fanfare.ring_day(1), 1, 7, now(), \(version), target_id, 1, 1, id, id, ARRAY[id], '\\x40'
            FROM fanfare.devices WHERE id = \(device);
            INSERT INTO fanfare.feedback (batch_id) VALUES (1);
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$
            """
        )
    }

    private func turn() throws {
        _ = try queue.takeTurn(hooks, as: owner, on: world.connection)
    }

    private func told() throws -> [String] {
        try world.connection.column("SELECT name FROM fanfare.feedback_state WHERE waiting = 0 ORDER BY name")
    }

    /// As PostgreSQL does when its notification queue is full.
    @Test func whatIsRefusedAtTheCommitIsTheHooksFailure() throws {
        try world.connection.execute(
            """
            CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON fanfare.feedback_cursors DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (new.name = 'ears' AND new.told_at IS DISTINCT FROM old.told_at) EXECUTE FUNCTION public.refuse()
            """
        )
        try turn()
        #expect(try told() == ["late"])
        let state = "SELECT concat_ws('|', state, failures, error LIKE '%NOTIFY queue%') FROM fanfare.feedback_state"
        #expect(try world.connection.column("\(state) ORDER BY name") == ["failing|1|t", "ok|0"])
        try world.connection.execute(
            "DROP TRIGGER refuse ON fanfare.feedback_cursors; UPDATE fanfare.feedback_cursors SET retry_at = '-infinity'"
        )
        try turn()
        #expect(try told() == ["ears", "late"])
        let lines = log.end().filter { $0.contains("feedback.hook=ears") }
        #expect(lines.count == 2)
        #expect(lines.first?.contains("a feedback hook fails") == true)
        #expect(lines.last?.contains("a feedback hook works again") == true)
    }

    @Test func aHookOfWhichNothingCanBeWrittenDownHoldsUpNoOther() throws {
        try world.connection.execute(
            """
            CREATE TRIGGER refuse BEFORE UPDATE ON fanfare.feedback_cursors
                FOR EACH ROW WHEN (new.name = 'ears') EXECUTE FUNCTION public.refuse()
            """
        )
        for _ in 0..<2 { try turn() }
        #expect(try told() == ["late"])
        try world.connection.execute("DROP TRIGGER refuse ON fanfare.feedback_cursors")
        #expect(log.end().count { $0.contains("a database statement of a feedback hook failed") } == 1)
    }
}
