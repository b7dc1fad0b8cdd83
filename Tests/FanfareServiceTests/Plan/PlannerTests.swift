import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The planner's locks and floors after errors.
@Suite(.database)
struct PlannerTests {
    /// Whether one planner sleeps and none holds the drain lock, by the advisory locks.
    private static let isAsleep = """
        SELECT count(*) FILTER (WHERE objid = 2) = 1 AND count(*) FILTER (WHERE objid = 1) = 0
        FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.classid = 1178685254 AND l.granted
        """

    @Test func afterAnErrorNobodyIsTakenToDrain() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        // The first round fails like one that hit `lock_timeout`; the connection survives.
        try world.connection.execute(
            """
            CREATE SEQUENCE public.rounds;
            CREATE FUNCTION public.fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('public.rounds') = 1 THEN RAISE 'not now' USING ERRCODE = '55P03'; END IF;
                RETURN OLD;
            END $$;
            CREATE TRIGGER fail_once BEFORE DELETE ON fanfare.outbox FOR EACH ROW EXECUTE FUNCTION public.fail_once();
            """
        )
        let planner = world.planner()
        let thread = WorkerThread.start(name: "planner") { planner.run() }
        defer {
            planner.stop()
            thread.join()
        }
        try world.connection.waitUntil("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
        try world.connection.waitUntil(Self.isAsleep)
    }

    @Test func itHearsOfEventsOnItsOwnSession() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let planner = world.planner()
        let thread = WorkerThread.start(name: "planner") { planner.run() }
        try world.connection.waitUntil(Self.isAsleep)
        // A warning is logged a second after an event whose notification has not come. After the first events, each is notified.
        let end = Clocks.steady + 3 * SweepSchedule.notificationDelay
        repeat {
            let event = try world.emit("e")
            try world.connection.waitUntil("SELECT fate = 'unmatched' FROM fanfare.events WHERE id = \(event)")
        } while Clocks.steady < end
        planner.stop()
        thread.join()
        #expect(log.end().filter { !$0.contains("nothing is sent of an event") } == [])
    }

    @Test(arguments: [
        (1, 0.1, 2.0), (7, 0.5, 4.5), (7, 3.0, 10.0), (8, 3.0, 27.0), (999, 8.0, 50.0),
    ])
    func roundsTakeATenthOfTheTimeAndFewEventsDoNotWaitLong(taken: Int, cost: Double, pause: Double) {
        #expect(PlannerLoop.pause(after: taken, cost: .microseconds(cost * 1000)) == .microseconds(pause * 1000))
    }

    @Test func whatADeadPlannerHadTakenIsFoundBelowTheFloor() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        let other = try World().connection
        try other.execute("BEGIN")
        let parts = try other.run(PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 10))
        #expect(PlanRoundSummary(parts).taken == 1)
        // The planner skips the locked event, and its floor moves past it.
        var loop = world.loop()
        loop.sweepInterval = .max
        _ = try loop.begin(on: world.connection)
        _ = try world.connection.query("SELECT pg_terminate_backend($1::int)", "\(other.backendPID)")
        try world.connection.waitUntil(
            "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(other.backendPID))"
        )
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(event) == "waiting", "the floor is a floor")
        loop.sweepInterval = 0
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(event) == "planned")
    }
}
