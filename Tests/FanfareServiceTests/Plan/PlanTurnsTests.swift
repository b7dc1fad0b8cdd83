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

/// The order in which several large audiences are expanded.
@Suite(.database)
struct PlanTurnsTests {
    let world: World

    init() throws {
        world = try World()
        try world.device("aa")
    }

    /// Opens a plan whose audience is empty.
    private func open(_ event: Int64, lane: Int) throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, last_device)
            SELECT \(event), 1, id, \(lane), '[{"all": [1], "none": []}]', 1 FROM fanfare.apps
            """
        )
    }

    @Test func plansOfALaneTakeTurnsAndTheMostUrgentLaneComesFirst() throws {
        for event in [1, 2, 3] as [Int64] { try open(event, lane: 1) }
        for event in [4, 5] as [Int64] { try open(event, lane: 2) }
        var turns = PlanTurns()
        var order: [Int64] = []
        func turn() throws {
            let plan = try #require(try world.connection.run(LockPlan(turns: turns)).first)
            turns.took(plan)
            order.append(plan.eventID)
        }
        for _ in 0..<4 { try turn() }
        try world.connection.execute("DELETE FROM fanfare.plans WHERE lane = 1")
        try turn()
        try open(6, lane: 0)
        try turn()
        try world.connection.execute("DELETE FROM fanfare.plans WHERE lane = 0")
        try turn()
        #expect(order == [1, 2, 3, 1, 4, 6, 5])
    }

    @Test func onlyThePlanThatIsTakenIsLocked() throws {
        for event in [1, 2, 3] as [Int64] { try open(event, lane: 1) }
        let others = try (0..<3).map { _ in try TestDatabase.current.connect() }
        var taken: [Int64] = []
        for connection in others {
            try connection.execute("BEGIN")
            taken += try connection.run(LockPlan()).map(\.eventID)
        }
        #expect(taken == [1, 2, 3])
        #expect(try world.connection.run(LockPlan()).isEmpty)
    }

    @Test func onePlanThatFailsStopsNoOther() throws {
        let failing = try world.rule("failing", event: "e", to: #"{"everyone": true}"#)
        try world.rule("fine", event: "e", to: #"{"everyone": true}"#)
        try world.connection.execute(
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full'; END $$;
            CREATE TRIGGER fail BEFORE INSERT ON fanfare.batches FOR EACH ROW
            WHEN (new.rule_version = \(failing)) EXECUTE FUNCTION fail();
            """
        )
        try world.emit("e")
        try world.planRounds()
        let slicer = world.slicer()
        let thread = WorkerThread.start(name: "slicer") { slicer.run() }
        try world.connection.waitUntil("SELECT EXISTS (SELECT FROM fanfare.batches)")
        try world.connection.execute("DROP TRIGGER fail ON fanfare.batches")
        try world.connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.plans)")
        slicer.stop()
        thread.join()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 2)
    }
}
