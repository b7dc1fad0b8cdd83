import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The sender's handling of requests that its transport returns.
@Suite(.database)
struct SenderStateTests {
    private let world: World
    private let recorder = Mailbox<RecorderMessage>()
    private let transport = ScriptedTransport()
    private var state: SenderState

    init() throws {
        world = try World()
        _ = try world.device("aa01", user: "u")
        world.catalog.targets.replace(try world.connection.run(SQL.allTargets()))
        let target = try #require(world.catalog.targets.all.values.first)
        let settings = PoolSettings(
            target: target,
            pool: ProviderPool(environment: target.environment, access: APNsAccess(tokens: nil)) { throw Unused() },
            threads: 1
        )
        state = SenderState(
            shared: SenderShared(settings: settings, breakers: Breakers(), retries: Locked(RetryBudget())),
            links: world.links(recorder),
            transport: transport,
            writer: SharedHeadWriter()
        )
        world.context.lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: Clocks.wall)
    }

    /// Runs a turn of a daemon that has just read the cancellations.
    private mutating func turn() {
        world.context.lease.cancelsRead(startedAt: Clocks.steady)
        state.turn()
    }

    private struct Unused: Error {}

    /// Claims and renders a batch for the given number of devices.
    private func batch(_ devices: Int) throws -> PreparedBatch {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        if devices > 1 { try world.devices(devices - 1, user: "u") }
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        return try #require(try world.prepare(try world.claim()).first?.batch)
    }

    /// The recorder's messages: the number of results, and the positions that were returned unsent.
    private func told() -> (results: Int, unsent: [Int32]) {
        var (results, unsent): (Int, [Int32]) = (0, [])
        for message in recorder.take(timeout: .zero) ?? [] {
            switch message {
            case .results(_, let more, _, _): results += more.count
            case .abandoned(_, let more, _): unsent += more
            case .opened, .refused: break
            }
        }
        return (results, unsent.sorted())
    }

    @Test mutating func whatFindsNoConnectionWaitsAndIsAskedForOneAtATime() throws {
        state.accept([try batch(20)])
        transport.givesBack = .connect
        for _ in 0..<5 { turn() }
        #expect(transport.submitted.prefix(5) == [8, 8, 8, 8, 8], "\(transport.submitted)")
        for _ in 0..<20 { turn() }
        #expect(transport.submitted.dropFirst(5).allSatisfy { $0 == 1 }, "\(transport.submitted)")
        #expect(told() == (0, []), "nothing was attempted, so nothing is recorded")
        #expect(world.limits.budget.acquire(1, for: state.key, lane: .normal) == 1, "and W is not held")
        #expect(world.counters.snapshot.requests == 0)
        transport.givesBack = nil
        while transport.answered < 20 { turn() }
        #expect(told() == (20, []))
        #expect(world.counters.snapshot.requests == 20)
    }

    /// A sender that stops returns requests that wait for a connection, without waiting for it.
    @Test(arguments: [1, 20]) mutating func drainingGivesBackWhatWaitsForAConnection(devices: Int) throws {
        state.accept([try batch(devices)])
        transport.isConnecting = true
        turn()
        #expect(transport.inFlight == min(devices, 8) && told() == (0, []))
        state.drain()
        #expect(told() == (0, (0..<Int32(devices)).map(\.self)))
    }

    @Test mutating func whatIsReturnedIsCancelledWithoutAnAttempt() throws {
        state.accept([try batch(3)])
        transport.givesBack = .sendUntil
        turn()
        let seen = try #require(try world.connection.run(NewCancels(since: nil)).first?.seen)
        _ = try world.connection.query("SELECT fanfare.cancel(id) FROM fanfare.events")
        world.orders.cancels.add(try world.connection.run(NewCancels(since: seen)).compactMap(\.fact))
        turn()
        #expect(told() == (3, []))
        #expect(transport.submitted == [3])
    }
}
