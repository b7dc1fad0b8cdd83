import FanfareCore
import FanfareMetrics
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The measured time from emit to acceptance.
@Suite(.database)
struct AcceptanceTests {
    let world: World

    init() throws {
        world = try World()
        for n in 0..<4 { try world.device("aa1\(n)", user: "u\(n)") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
    }

    /// Emits and plans an event for some users.
    private func emit(_ users: String...) throws -> Int64 {
        let names = users.map { #""\#($0)""# }.joined(separator: ", ")
        return try world.emit("e", #"{"u": [\#(names)]}"#)
    }

    private func claim() throws -> PreparedBatch {
        try #require(try world.prepare(try world.claim()).first).batch
    }

    /// Records all deliveries of a batch as accepted, the given time after an event's emit.
    private func accept(_ batch: PreparedBatch, after seconds: Double, of event: Int = 0) {
        let at = batch.variants[event].event.createdAt.microseconds + Int64(seconds * 1e6)
        let results = batch.deliveries.map { DeliveryResult(acceptedAt: $0.position) }
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0, at: at)])
    }

    /// The buckets with counts, and the events of their exemplars.
    private func told() throws -> (sum: Double, buckets: [String], events: [Int64], traces: [String?]) {
        let registry = try #require(world.counters.metrics as? MetricsRegistry)
        guard let family = registry.family("fanfare_emit_to_accepted_seconds") else { return (0, [], [], []) }
        #expect(family.series.map { $0.labels.map(\.value) } == [["shop", "normal", "apns"]])
        guard case .histogram(let times)? = family.series.first?.value else { return (0, [], [], []) }
        var before: Int64 = 0
        var buckets: [String] = []
        for bucket in times.buckets {
            if bucket.count > before { buckets.append("\(bucket.upperBound): \(bucket.count - before)") }
            before = bucket.count
        }
        let examples = times.buckets.compactMap(\.exemplar)
        return (times.sum, buckets, examples.map(\.number), examples.map(\.traceID))
    }

    @Test func timeRunsFromEachEventsEmitToWhenTheAnswerWasKnown() throws {
        let first = try emit("u0", "u1")
        let second = try emit("u2")
        try world.plan()
        try world.connection.execute(
            "UPDATE fanfare.event_log SET created_at = created_at - interval '20 s' WHERE id = \(first)"
        )
        let batch = try claim()
        #expect(Set(batch.variants.map(\.event.id)) == [first, second] && batch.claimed.eventID == nil)
        let later = try #require(batch.variants.firstIndex { $0.event.id == second })
        let gap =
            batch.variants[later].event.createdAt.microseconds
            - batch.variants[1 - later].event.createdAt.microseconds
        accept(batch, after: 0.04, of: later)
        let told = try told()
        #expect(told.buckets == ["0.05: 1", "30.0: 2"] && told.events == [second, first])
        #expect(abs(told.sum - 0.12 - 2 * Double(gap) / 1e6) < 0.001)
        // An answer is counted even if another daemon closes the batch.
        accept(batch, after: -1, of: later)
        #expect(try self.told().buckets == ["0.001: 1", "0.05: 1", "30.0: 4"])
    }

    @Test func whatWaitedOnPurposeDoesNotCountOrCountsSinceItsTimeCame() throws {
        let event = try emit("u0")
        try world.plan()
        let hour = "(SELECT created_at + interval '1 hour' FROM fanfare.event_log WHERE id = \(event))"
        try world.connection.execute("UPDATE fanfare.batches SET due_at = \(hour)")
        accept(try claim(), after: 3600.3)
        #expect(try told().buckets == ["0.5: 1"])

        _ = try emit("u1")
        try world.plan()
        try world.connection.execute("UPDATE fanfare.batches SET history = \(RetryHistory.none.held.encoded)")
        accept(try claim(), after: 0.3)
        #expect(try told().buckets == ["0.5: 1"])
    }

    @Test func ofABroadcastAllBatchesCountForItsEvent() throws {
        try world.devices(3, user: "many")
        let trace = "0af7651916cd43dd8448eb211c80319c"
        try world.connection.execute("SET fanfare.traceparent = '00-\(trace)-b7ad6b7169203331-01'")
        let event = try emit("many")
        try world.plan()
        let batch = try claim()
        #expect(batch.claimed.eventID == event)
        accept(batch, after: 4000)
        let told = try told()
        #expect(told.buckets == ["inf: 3"] && told.events == [event] && abs(told.sum - 12_000) < 0.01)
        #expect(told.traces == [trace])
    }
}
