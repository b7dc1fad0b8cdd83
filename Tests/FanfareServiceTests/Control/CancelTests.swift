import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The effect of cancellations on batches that are already prepared.
@Suite(.database)
struct CancelTests {
    let world: World

    init() throws {
        world = try World()
    }

    private func check(since: String?) throws -> (seen: String, events: [Int64]) {
        let rows = try world.connection.run(NewCancels(since: since))
        return (try #require(rows.first?.seen), rows.compactMap { $0.fact?.eventID })
    }

    private func cancel(_ event: Int64) throws {
        _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(event)")
    }

    @Test func eachComesOnceInWhateverOrderTheyAreCommitted() throws {
        try cancel(1)
        let first = try check(since: nil)
        #expect(first.events.isEmpty, "what was cancelled before is seen by whoever fetches the event")
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; SELECT fanfare.cancel(2::bigint)")
        try cancel(3)
        let second = try check(since: first.seen)
        #expect(second.events == [3])
        try cancel(4)
        let third = try check(since: second.seen)
        #expect(third.events == [4], "however long the other transaction stays open")
        try other.execute("COMMIT")
        let fourth = try check(since: third.seen)
        #expect(fourth.events == [2])
        #expect(try check(since: fourth.seen).events.isEmpty)
    }

    @Test func whatWasRestoredFromAServerThatWasFurtherOnIsNoNews() throws {
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.recipients(event) == [device])
        let first = try check(since: nil)
        let restored = "INSERT INTO fanfare.cancels (xid, event_id) VALUES ('900000000000', $1::bigint)"
        _ = try world.connection.query(restored, "\(event)")
        #expect(try check(since: first.seen).events.isEmpty)
        let prepared = try #require(try world.prepare(try world.claim()).first)
        #expect(prepared.decided.map(\.outcome) == [.cancelled])
    }

    /// A cancellation stops events emitted before it, even if the clock was changed in between.
    @Test(arguments: [-3600, 30, 259_200])
    func theClockOrdersNothing(step: Int) throws {
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let before = try world.emit("e", #"{"u": "u"}"#, key: "k")
        let first = try check(since: nil)
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k')") == "t")
        try world.connection.execute("UPDATE fanfare.cancels SET created_at = created_at + interval '\(step) s'")
        let after = try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        #expect(try [before, after].map { try world.fate($0) } == ["cancelled", "planned"])
        let event = try #require(try world.prepare(try world.claim()).first)
        #expect(event.decided.isEmpty && event.batch.deliveries.count == 1)
        let index = CancelIndex()
        index.add(try world.connection.run(NewCancels(since: first.seen)).compactMap(\.fact))
        let rows = try world.connection.run(
            FetchEvents(day: Int16(EventID(rawValue: after).ringDay), eventIDs: [before, after])
        )
        #expect(rows.map { index.outcome(of: $0) } == [.cancelled, nil])
        #expect(rows.map(\.isCancelled) == [true, false])
    }

    @Test func theIndexForgetsWhatTheDatabaseForgets() {
        let index = CancelIndex()
        func fact(_ n: Int64, key: String? = nil, day: Int) -> CancelFact {
            let time = Timestamp(microseconds: Int64(day) * 24 * Micros.hour)
            return CancelFact(
                id: n,
                eventID: key == nil ? n : nil,
                type: key == nil ? nil : "e",
                key: key,
                createdAt: time,
                number: 100
            )
        }
        func event(_ n: Int64, key: String? = nil) -> EventRow {
            let time = Timestamp(microseconds: 0)
            return EventRow(
                id: n,
                type: "e",
                key: key,
                createdAt: time,
                plannedAt: time,
                ttlSeconds: nil,
                payload: "{}",
                isCancelled: false
            )
        }
        func holds(_ n: Int64, key: String? = nil) -> Bool { index.outcome(of: event(n, key: key)) != nil }
        index.add([fact(1, day: 1), fact(2, key: "k", day: 1), fact(3, day: 20), fact(4, key: "l", day: 20)])
        #expect(index.count == 4 && index.version == 4)
        index.add([fact(1, day: 1), fact(4, key: "l", day: 20)])
        #expect(index.version == 4, "nothing new")
        index.add([fact(5, day: 1 + Forgetting.factDays)])
        #expect(index.count == 5 && holds(1) && holds(9, key: "k"))
        index.add([fact(6, day: 2 + Forgetting.factDays)])
        #expect(index.count == 4 && !holds(1) && !holds(9, key: "k"))
        #expect(holds(3) && holds(9, key: "l") && holds(6))
    }
}
