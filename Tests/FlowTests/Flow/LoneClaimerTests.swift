import FanfareCore
import Logging
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A planner that passes a single event's batches to the senders itself; no claimer and no sender runs here.
@Suite(.flowSandbox, .database)
struct LoneClaimerTests {
    private let world: World
    private let recorder = Mailbox<RecorderMessage>()
    private let pools: SenderPools

    init() throws {
        world = try World()
        let shop = try #require(try Flow.idle().configuration().apps["shop"]?.apns)
        let apps = try AppSenders.read(
            ["shop": Configuration.App(shop)],
            send: Configuration.Send(),
            environment: [:],
            logger: world.context.logger
        )
        pools = SenderPools(apps, links: world.links(recorder))
        pools.stop()
        pools.run()
        try world.device("aa", user: "u")
        world.catalog.targets.replace(try world.connection.run(SQL.allTargets()))
        world.context.lease.begin(owner: 7, startedAt: Clocks.steady, databaseNow: Clocks.wall)
    }

    // No time limit by default, because the machine may be busy.
    private func claimer(patience: Int64 = .max) -> LoneClaimer {
        world.loneClaimer(pools, recorder, patience: patience)
    }

    /// Emits an event that matches a rule, and plans it.
    ///
    /// - Returns: the batches that were passed to the senders.
    private func plan(_ rule: String = "", events: Int = 1, patience: Int64 = .max) throws -> [PreparedBatch] {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, rule)
        for _ in 0..<events { try world.emit("e", #"{"u": "u"}"#) }
        let lone = claimer(patience: patience)
        var loop = world.loop(lone: lone)
        _ = try loop.begin(on: world.connection)
        return (recorder.take(timeout: .zero) ?? []).compactMap { message in
            if case .opened(let batch, _, _) = message { batch } else { nil }
        }
    }

    private func owners() throws -> [String?] {
        try world.connection.query("SELECT owner FROM fanfare.batches").rows.map { $0[0] }
    }

    @Test func itsPushesAreHandedOver() throws {
        let batch = try #require(try plan().first)
        #expect(batch.deliveries.map(\.token) == ["aa"] && batch.owner == 7)
        #expect(try owners() == ["7"])
        let record = BatchRecord(
            id: batch.claimed.id,
            leaseToken: batch.claimed.leaseToken,
            outcomes: [Outcome.accepted.rawValue]
        )
        let close = CloseBatches(owner: 7, batches: [record], retries: [], tallies: [])
        #expect(try world.connection.run(close).batches == [batch.claimed.id], "it is ours, by this token")
    }

    @Test func whatIsCappedIsTheClaimers() throws {
        try world.put(policy: #"{"caps": {"daily": {"max": 1, "per": "1d"}}}"#)
        #expect(try plan(#""caps": ["daily"]"#).isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func whatIsNotSentAtNightIsTheClaimers() throws {
        _ = world.orders.replace(rates: [], quiet: ["shop"])
        #expect(try plan().isEmpty)
        #expect(try owners() == [nil])
        #expect(try plan(#""lane": "transactional""#).count == 1)
    }

    @Test(arguments: [
        #""delivery": "at_most_once""#, #""badge_sql": "SELECT user_id, 1 FROM unnest($1) AS u (user_id)""#,
        #""lane": "bulk""#, #""category": "marketing""#,
        #""quiet_hours": {"from": "00:00", "until": "00:01"}"#,
    ])
    func whatIsNotThatSimpleIsTheClaimers(rule: String) throws {
        #expect(try plan(rule).isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func aRoundThatTookLongIsTheClaimers() throws {
        #expect(try plan(patience: 0).isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func moreThanAPersonsDevicesAreTheClaimers() throws {
        try world.devices(20, user: "u")
        #expect(try plan().isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func besideAnAudienceThatIsYetToBeFoundItIsTheClaimers() throws {
        try world.rule("s", event: "e", to: #"{"topic": "t"}"#)
        #expect(try plan().isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func aRoundThatFailedLeavesNothingInDoubt() throws {
        let lone = claimer()
        let claim = try #require(lone.begin())
        lone.end(claim, with: PostgresError(.server, sqlState: "55P03", message: "not now"))
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        _ = try world.claim(owner: claim.owner, leaseToken: claim.leaseToken)
        try lone.settle(on: world.connection)
        #expect(try owners() == ["7"])
        lone.end(claim, with: PostgresError(.connectionLost, message: "gone"))
        try lone.settle(on: world.connection)
        #expect(try owners() == [nil])
    }

    /// Planning holds no transaction open while a message is rendered.
    @Test func nothingIsRenderedBeforeTheRoundIsCommitted() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        world.catalog.targets.replace(try world.connection.run(SQL.allTargets()))
        world.context.lease.begin(owner: 7, startedAt: Clocks.steady, databaseNow: Clocks.wall)
        try world.rule(
            "r",
            event: "e",
            to: #"{"users": "$.u"}"#,
            #""message": {"notification": {"title": "{{none}}"}}"#
        )
        try world.emit("e", #"{"u": "u"}"#)
        try world.connection.execute(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE 'not now' USING ERRCODE = '55P03'; END $$;
            CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON fanfare.batches DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION public.fail();
            """
        )
        let lone = world.loneClaimer(pools, recorder, patience: .max)
        var loop = world.loop(lone: lone)
        #expect(throws: PostgresError.self) { try loop.begin(on: world.connection) }
        #expect(log.count(of: "'none' is missing") == 0)
        try world.connection.execute("DROP TRIGGER fail ON fanfare.batches")
        _ = try loop.begin(on: world.connection)
        #expect(log.count(of: "'none' is missing") == 1)
    }

    @Test func severalEventsAreTheClaimers() throws {
        #expect(try plan(events: 2).isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func withoutALeaseNothingIsClaimed() throws {
        world.context.lease.lost()
        #expect(try plan().isEmpty)
        #expect(try owners() == [nil])
    }

    @Test func aCommitThatWasNotAnsweredIsSettledOnTheNextConnection() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        let lone = claimer()
        var statement = PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 10)
        statement.claim = lone.begin()
        // The statement was committed, but the claimer does not know it.
        _ = try world.connection.run(statement)
        #expect(try owners() == ["7"])
        var loop = world.loop(lone: lone)
        _ = try loop.begin(on: world.connection)
        #expect(try owners() == [nil])
    }
}
