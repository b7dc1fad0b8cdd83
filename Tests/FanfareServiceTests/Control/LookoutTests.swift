import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The look with which a daemon learns of orders and work.
@Suite(.database)
struct LookoutTests {
    private static let owner: Int32 = 7

    /// A stage that a look can wake.
    enum Woken: String {
        case maintain, slice, schedule, claim
    }

    let world: World
    var lookout: Lookout

    init() throws {
        world = try World()
        try world.device("aa")
        let control = Controller(
            context: world.context,
            bells: world.bells,
            orders: world.orders,
            fuses: world.limits.fuses,
            figures: world.figures
        )
        lookout = try Lookout(control, on: world.connection)
    }

    /// Looks once and returns which stages were woken.
    private mutating func look() throws -> Set<Woken> {
        try lookout.look(for: Self.owner, on: world.connection)
        let bells = world.bells
        let all: [(Woken, Bell)] = [
            (.maintain, bells.maintain), (.slice, bells.slices[0]), (.schedule, bells.schedule), (.claim, bells.claim),
        ]
        return Set(all.filter { $0.1.wait(timeout: .zero) }.map(\.0))
    }

    /// How many prepared statements the session has run.
    private func statements() throws -> Int64 {
        try world.connection.number("SELECT sum(generic_plans + custom_plans) FROM pg_prepared_statements")
    }

    @Test mutating func aLookLearnsWhichPushesHaveHandles() throws {
        func hasHandle(_ report: Bool?) throws -> Bool {
            var rule: JSONValue = [
                "app": "shop", "name": "r", "event": "e", "to": ["users": "$.u"], "message": ["data": ["a": "b"]],
            ]
            if let report, var object = rule.objectValue {
                object["report"] = .bool(report)
                rule = .object(object)
            }
            return world.orders.current.reports.key(of: try RuleDefinition(json: rule)) != nil
        }
        _ = try look()
        #expect(try !hasHandle(nil) && !hasHandle(false) && hasHandle(true))
        try world.connection.execute("SELECT fanfare.put_policy('shop', '{\"report\": true}')")
        _ = try look()
        #expect(try hasHandle(nil) && !hasHandle(false) && hasHandle(true))
        let before = world.orders.current.reports
        try world.connection.execute("SELECT fanfare.rotate_report_keys()")
        _ = try look()
        #expect(world.orders.current.reports != before)
    }

    @Test mutating func withoutNewsALookIsOneStatementAndWakesNone() throws {
        _ = try look()
        let before = try statements()
        for _ in 0..<3 { #expect(try look() == []) }
        #expect(try statements() == before + 3)
        #expect(!world.context.status.hasOthers)
    }

    @Test mutating func anIdlePlannerLooksByOneStatement() throws {
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        let before = try statements()
        for _ in 0..<3 { _ = try loop.wakeUp(wasNotified: false, on: world.connection) }
        #expect(try statements() == before + 3)
        let event = try world.emit("e")
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.connection.text("SELECT fate FROM fanfare.events WHERE id = \(event)") == "unmatched")
    }

    /// Work, with the stages that it wakes at each look.
    @Test(
        arguments: [
            (
                "a rule", "SELECT fanfare.put_rule('{\(LookoutTests.message), \"name\": \"r\", \"event\": \"e\"}')",
                [.maintain]
            ),
            ("a campaign", "SELECT fanfare.put_campaign('{\(LookoutTests.message), \"name\": \"c\"}')", [.maintain]),
            (
                "the quarantine",
                "INSERT INTO fanfare.quarantine (xid, id, created_at, type, payload) VALUES ('1', 1, now(), 'e', '{}')",
                [.maintain]
            ),
            ("a query", "INSERT INTO fanfare.audience_queries (event_id, rule_version) VALUES (1, 1)", [.maintain]),
            (
                "a digest",
                """
                INSERT INTO fanfare.open_digests (rule_id, key, began_at, due_at, count, event_ids)
                VALUES (1, 'k', now(), now(), 1, '{1}')
                """,
                [.schedule]
            ),
        ] as [(String, String, Set<Woken>)]
    )
    mutating func workWakesItsStageUntilItIsDone(_ work: (name: String, sql: String, woken: Set<Woken>)) throws {
        _ = try look()
        try world.connection.execute(work.sql)
        for _ in 0..<2 { #expect(try look() == work.woken, "\(work.name)") }
    }

    @Test mutating func aDueCampaignAndAQueryWakeTheScheduler() throws {
        try world.put(campaign: "later", schedule: #"{"cron": "0 9 * * *"}"#)
        try world.schedule()
        _ = try look()
        #expect(try look() == [])
        try world.connection.execute("UPDATE fanfare.campaigns SET next_at = clock_timestamp() + interval '900 ms'")
        #expect(try look() == [.schedule])
    }

    @Test mutating func aLargeAudienceWakesTheSlicerOnce() throws {
        _ = try look()
        try world.connection.execute(
            """
            INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, last_device)
            SELECT 1, 1, id, 1, '[{"all": [1], "none": []}]', 1 FROM fanfare.apps
            """
        )
        #expect(try look() == [.slice])
        #expect(try look() == [] && world.context.status.hasPlans)
        try world.connection.execute("DELETE FROM fanfare.plans")
        #expect(try look() == [] && !world.context.status.hasPlans)
    }

    /// A bell wakes one thread: slicers that shared one slept on when others were told of plans, or to stop.
    @Test func eachSlicerIsWoken() {
        let bells = StageBells(slicers: 3, isMaintenanceApart: false)
        bells.ringForPlans()
        #expect(bells.slices.map { $0.wait(timeout: .zero) } == [true, true, true])
        bells.ringForUpkeep()
        #expect(bells.slices.map { $0.wait(timeout: .zero) } == [true, false, false], "the first has maintenance")
        #expect(bells.maintain.wait(timeout: .zero), "a turn of maintenance is due")
    }

    @Test mutating func ordersTakeEffect() throws {
        let connection = world.connection
        _ = try look()
        let before = world.orders.current
        _ = try connection.query("SELECT fanfare.cancel(1::bigint)")
        #expect(try look() == [.maintain])
        #expect(world.orders.cancels.count == 1)
        _ = try connection.query("SELECT fanfare.set_preference('shop', 'u', 'c', true)")
        #expect(try look() == [])
        #expect(world.orders.current.preferences.version > before.preferences.version)
        try connection.execute(
            #"SELECT fanfare.put_policy('shop', '{"rate": "5/s", "quiet_hours": {"from": "22:00", "until": "08:00"}}')"#
        )
        #expect(try look() == [.maintain, .claim])
        #expect(!world.orders.current.rates.isEmpty && world.orders.current.quiet == ["shop"])
        let key = FuseKey(app: "shop", environment: "production")
        _ = try connection.runReturningCount(BlowFuse(key: key, strength: .weak))
        _ = try look()
        #expect(!world.limits.fuses.allowsPruning(of: key))
        try connection.execute(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('b', 'h', 1, '1', now(), 1)
            """
        )
        #expect(try look() == [.claim] && world.context.status.hasOthers)
    }

    @Test mutating func aPausedCampaignClosesItsGate() throws {
        try world.put(campaign: "sale")
        try world.schedule()
        try world.start("sale")
        _ = try look()
        let gate = try Int32(world.connection.number("SELECT id FROM fanfare.gates WHERE run_id IS NOT NULL LIMIT 1"))
        #expect(!world.orders.current.gates.isClosed(gate))
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'sale')")
        #expect(try look().isSuperset(of: [.claim, .maintain]))
        #expect(world.orders.current.gates.isClosed(gate))
    }

    private static let message =
        #""app": "shop", "to": {"everyone": true}, "message": {"notification": {"title": "T"}}"#
}
