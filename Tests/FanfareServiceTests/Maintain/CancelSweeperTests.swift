import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The end of batches held for quiet hours when their event is cancelled.
@Suite(.database)
struct CancelSweeperTests {
    let world: World

    init() throws {
        world = try World()
        try world.rule("one", event: "one", to: #"{"users": "$.u"}"#)
        try world.rule("all", event: "all", to: #"{"everyone": true}"#)
        for name in ["a", "b", "c"] { try world.device("\(name)\(name)", user: name) }
    }

    /// Delays all waiting batches until tomorrow, as a claim in quiet hours does.
    private func hold(_ history: RetryHistory = .none.held) throws {
        try world.connection.execute(
            "UPDATE fanfare.batches SET not_before = now() + interval '1 day', history = \(history.encoded)"
        )
    }

    private func outcomes() throws -> [String] {
        try world.connection.column("SELECT outcome FROM fanfare.deliveries ORDER BY event_id, device_id")
    }

    /// With a cancel by key, another event with the same key is emitted in the same transaction.
    @Test(arguments: [false, true])
    func aBroadcastsBatchesEnd(isByKey: Bool) throws {
        let event = try world.emit("all", "{}", key: "k")
        try world.plan()
        try hold()
        if isByKey {
            try world.connection.execute(
                "BEGIN; SELECT fanfare.cancel('all', 'k'); SELECT fanfare.emit('all', '{}', 'k'); COMMIT"
            )
        } else {
            _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(event)")
        }
        let row = try #require(try world.connection.run(EndCancelled(since: nil)).first)
        #expect(row.ended == 1 && row.woken == 0)
        #expect(try outcomes() == ["cancelled", "cancelled", "cancelled"])
        #expect(try world.connection.run(EndCancelled(since: row.seen)).first?.ended == 0)
    }

    @Test func oneOfSeveralEventsEndsAndTheOthersAreHeldOn() throws {
        let events = try ["a", "b", "c"].map { try world.emit("one", #"{"u": "\#($0)"}"#) }
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 1)
        try hold()
        _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(events[1])")
        let row = try #require(try world.connection.run(EndCancelled(since: nil)).first)
        #expect(row.ended == 0 && row.woken == 1)
        let prepared = try #require(try world.prepare(try world.claim()).first)
        #expect(prepared.decided.map(\.outcome) == [.cancelled])
        #expect(prepared.batch.deliveries.count == 2)
    }

    /// The delay of a retry may come from the provider's `Retry-After`.
    @Test func whatWaitsForARetryIsLeft() throws {
        let event = try world.emit("one", #"{"u": "a"}"#)
        try world.emit("one", #"{"u": "b"}"#)
        try world.plan()
        try hold(RetryHistory(attempts: 1, waits: 1, marks: .held))
        _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(event)")
        let row = try #require(try world.connection.run(EndCancelled(since: nil)).first)
        #expect(row.ended == 0 && row.woken == 0)
    }

    /// A claim that read the cancellations too early holds a batch; the next sweep finds it.
    @Test func whatIsHeldALittleLaterEndsToo() throws {
        var sweeper = CancelSweeper(
            world.orders.cancels,
            counters: world.counters,
            claimer: world.bells.claim,
            logger: world.context.logger
        )
        #expect(try sweeper.takeTurn(on: world.connection))
        let event = try world.emit("all")
        try world.plan()
        let batch = try #require(try world.claim().first)
        _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(event)")
        world.orders.cancels.add([
            .init(id: 1, eventID: event, type: nil, key: nil, createdAt: .init(microseconds: 0), number: 0)
        ])
        #expect(try sweeper.takeTurn(on: world.connection))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 1)
        _ = try world.connection.run(
            ReleaseBatches(
                owner: 1,
                batches: [BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: [])],
                delay: 60_000_000
            )
        )
        let seen = try #require(try world.connection.run(EndCancelled(since: sweeper.since)).first)
        #expect(seen.ended == 1)
    }
}
