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

/// Senders start with the first batch, and end when they are idle.
@Suite(.database)
struct SenderPoolTests {
    private let world: World
    private let recorder = Mailbox<RecorderMessage>()

    init() throws {
        world = try World()
        _ = try world.device("aa01", user: "u")
        world.catalog.targets.replace(try world.connection.run(SQL.allTargets()))
        world.context.lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: Clocks.wall)
    }

    private func pool(
        patience: IdlePatience = IdlePatience(),
        _ makeTransport: @escaping @Sendable () throws -> any PushTransport
    ) throws -> SenderPool {
        let target = try #require(world.catalog.targets.all.values.first)
        let pool = ProviderPool(
            environment: target.environment,
            access: APNsAccess(tokens: nil),
            makeTransport: makeTransport
        )
        return SenderPool(
            settings: PoolSettings(target: target, pool: pool, threads: 4),
            patience: patience,
            links: world.links(recorder)
        )
    }

    /// Claims and renders a batch for one device.
    private func batch() throws -> PreparedBatch {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        return try #require(try world.prepare(try world.claim()).first?.batch)
    }

    /// Returns the recorder's messages, while the daemon keeps reading cancellations.
    private func told() -> (results: Int, unsent: Int) {
        world.context.lease.cancelsRead(startedAt: Clocks.steady)
        var (results, unsent) = (0, 0)
        for message in recorder.take(timeout: .milliseconds(10)) ?? [] {
            switch message {
            case .results(_, let more, _, _): results += more.count
            case .abandoned(_, let more, _): unsent += more.count
            case .opened, .refused: break
            }
        }
        return (results, unsent)
    }

    @Test func anIdleAppHasNoThreadAndEachBatchFindsOne() throws {
        let made = Locked(0)
        let pool = try pool(patience: IdlePatience(time: 0, shortTime: 0)) {
            made.withLock { $0 += 1 }
            return ScriptedTransport()
        }
        let batch = try batch()
        #expect(pool.running == 0)
        for round in 1...8 {
            pool.send(batch)
            var results = 0
            while results == 0 || pool.running > 0 {
                let told = told()
                results += told.results
                #expect(told.unsent == 0)
            }
            #expect(results == 1 && made.withLock { $0 } == round)
        }
        #expect(pool.stop().isEmpty)
    }

    @Test func aSenderWithWorkStays() throws {
        let made = Locked(0)
        let pool = try pool {
            made.withLock { $0 += 1 }
            return ScriptedTransport()
        }
        let batch = try batch()
        for _ in 1...8 {
            pool.send(batch)
            var results = 0
            while results == 0 { results += told().results }
        }
        #expect(pool.running == 1 && made.withLock { $0 } == 1)
        for thread in pool.stop() { thread.join() }
        pool.send(batch)
        #expect(told().unsent == 1, "what comes after the end goes back to the queue")
    }

    @Test func whatFindsNoSenderGoesBackAndIsSentLater() throws {
        let failures = Locked(0)
        let pool = try pool {
            let count = failures.withLock { failures in
                failures += 1
                return failures
            }
            guard count > 2 else { throw NoTransport() }
            return ScriptedTransport()
        }
        let batch = try batch()
        var (results, unsent) = (0, 0)
        var sent = 0
        while results == 0 {
            if sent == unsent {
                pool.send(batch)
                sent += 1
            }
            let told = told()
            (results, unsent) = (results + told.results, unsent + told.unsent)
        }
        #expect(sent == unsent + 1 && unsent >= 2)
        for thread in pool.stop() { thread.join() }
    }

    private struct NoTransport: Error {}
}
