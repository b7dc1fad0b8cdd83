import FanfareCore
import FanfareMetrics
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The recorder's counters.
@Suite(.database)
struct RecordCountersTests {
    let world: World

    init() throws {
        world = try World()
    }

    private func result(_ position: Int32, _ outcome: Outcome, _ followUp: FollowUp? = nil) -> DeliveryResult {
        DeliveryResult(position: position, outcome: outcome, followUp: followUp)
    }

    private func close(_ batch: PreparedBatch, _ results: [DeliveryResult]) {
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)])
    }

    @Test func whatIsClosedIsCountedByWhereItWentAndWhatBecameOfIt() throws {
        for n in 0..<4 { try world.device("aa1\(n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let batch = try #require(try world.prepare(try world.claim()).first).batch
        let dead = FollowUp.prune(PruneEvidence(strength: .strong, registeredUpTo: batch.deliveries[2].registeredAt))
        let again = FollowUp.again(at: 0, history: .none, target: batch.target.id)
        let badTopic = try #require(APNsReason.badTopic.rejection)
        close(
            batch,
            [
                result(0, .accepted), result(1, badTopic), result(2, .goneAPNSUnregistered, dead),
                result(3, .retryingServerError, again),
            ]
        )
        let retry = try #require(try world.prepare(try world.claim()).first).batch
        close(retry, [result(0, .accepted)])
        #expect(
            try counted("fanfare.pushes") == [
                "shop production normal accepted apns 2", "shop production normal gone apns 1",
                "shop production normal rejected apns 1", "shop production normal retrying apns 1",
            ]
        )
        #expect(
            try counted("fanfare.push.failures") == [
                "shop gone apns Unregistered 1", "shop rejected apns BadTopic 1", "shop retrying apns server_error 1",
            ]
        )
        #expect(try counted("fanfare.devices.disabled") == ["shop production Unregistered 1"])
        #expect(try counted("fanfare.batches.closed") == ["2"])
        #expect(try counted("fanfare.events").filter { !$0.hasSuffix(" 0") } == ["planned 1"])
        // A daemon that lost the lease closes no batch.
        close(retry, [result(0, .accepted)])
        #expect(try counted("fanfare.batches.closed") == ["2"])
        #expect(try counted("fanfare.pushes").first == "shop production normal accepted apns 2")
    }

    @Test func whatIsHeldForANightIsNoFailure() throws {
        for n in 0..<2 { try world.device("aa1\(n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let batch = try #require(try world.prepare(try world.claim()).first).batch
        let morning = FollowUp.again(at: 0, history: RetryHistory.none.held, target: batch.target.id)
        close(batch, [result(0, .heldQuiet, morning), result(1, .heldSnoozed, morning)])
        #expect(try counted("fanfare.pushes") == ["shop production normal held apns 2"])
        #expect(try counted("fanfare.push.failures") == [])
    }

    /// Returns a counter's series: the values of their labels, in the order of the labels' names, and the count.
    private func counted(_ label: String) throws -> [String] {
        let registry = try #require(world.counters.metrics as? MetricsRegistry)
        return (registry.counter(label)?.series ?? []).map { series in
            guard case .whole(let count) = series.value else { return "no count" }
            return (series.labels.map(\.value) + ["\(count)"]).joined(separator: " ")
        }
    }
}
