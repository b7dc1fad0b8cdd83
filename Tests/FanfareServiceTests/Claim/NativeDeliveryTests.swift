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

/// Deliveries without a device, from claim to close.
@Suite(.database)
struct NativeDeliveryTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// The outcomes decided without a request for claimed deliveries, by event.
    private func decisions() throws -> [Int64: Outcome] {
        var outcomes: [Int64: Outcome] = [:]
        for one in try world.prepare(try world.claim()) {
            for result in one.decided { outcomes[one.batch.claimed.eventID(at: Int(result.position))] = result.outcome }
        }
        return outcomes
    }

    @Test func aCancelledEventIsNotSent() throws {
        try world.rule("r", event: "e", to: #"{"fcm_topic": "all"}"#)
        let early = try world.emit("e")
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(early)") == "t")
        let byID = try world.emit("e")
        let byKey = try world.emit("e", key: "k")
        try world.emit("e", key: "kept")
        try world.plan()
        #expect(try world.fate(early) == "cancelled")
        #expect(try world.recipients(early).isEmpty)
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(byID)") == "t")
        #expect(try world.connection.text("SELECT fanfare.cancel('e', 'k')") == "t")
        #expect(try decisions().filter { $0.value == .cancelled }.keys.sorted() == [byID, byKey])
    }

    @Test func anEventPastItsTimeIsNotSent() throws {
        try world.rule("r", event: "e", to: #"{"fcm_topic": "all"}"#)
        let late = try world.emit("e", ttl: "1 h")
        try world.emit("e", ttl: "1 day")
        try world.plan()
        try world.connection.execute("UPDATE fanfare.event_log SET created_at = created_at - interval '2 h'")
        #expect(try decisions().filter { $0.value == .expired }.map(\.key) == [late])
    }

    @Test func anEventIsSupersededByANewerOneOfTheSameTarget() throws {
        let more = #""supersede": true, "collapse": "order-{{order}}""#
        try world.rule("r", event: "e", to: #"{"fcm_topic": "team-{{id}}"}"#, more)
        let old = try world.emit("e", #"{"id": 1, "order": 1}"#)
        try world.emit("e", #"{"id": 2, "order": 1}"#)
        try world.emit("e", #"{"id": 1, "order": 2}"#)
        try world.emit("e", #"{"id": 1, "order": 1}"#)
        // The event has no valid target, and so supersedes none.
        try world.emit("e", #"{"id": "no name!", "order": 1}"#)
        try world.plan()
        #expect(try decisions().filter { $0.value == .superseded }.map(\.key) == [old])
    }

    @Test func whatIsClosedIsLoggedCountedAndTriedAgain() throws {
        let version = try world.rule("r", event: "e", to: #"{"fcm_topic": "team-{{id}}"}"#)
        let events = try (1...3).map { try world.emit("e", #"{"id": \#($0)}"#) }
        try world.plan()
        let batch = try #require(try world.claim().first)
        let codes = [Outcome.accepted, .retryingUnavailable, .fcmInvalidArgument].map(\.rawValue)
        let close = CloseBatches(
            owner: 1,
            batches: [BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: codes)],
            retries: [
                RetryBatch(
                    parentID: batch.id,
                    target: batch.target,
                    history: .none,
                    delayMicroseconds: 0,
                    deviceIDs: [batch.deviceIDs[1]],
                    eventIDs: [batch.eventIDs[1]]
                )
            ],
            tallies: codes.map { OutcomeTally(batchID: batch.id, outcome: $0, deliveries: 1) }
        )
        _ = try world.connection.run(close)
        #expect(try world.outcomes(events[0]) == ["accepted/accepted"])
        #expect(try world.outcomes(events[1]) == ["retrying/unavailable", "pending/not_attempted"])
        #expect(try world.outcomes(events[2]) == ["rejected/INVALID_ARGUMENT"])
        let counted = """
            SELECT count(*) FROM fanfare.stats_pending WHERE rule_version = \(version) AND target_id = \(batch.target)
            """
        #expect(try world.connection.number(counted) == 3)
        let again = try #require(try world.claim(leaseToken: 2).first)
        #expect(again.deviceIDs == [0] && again.eventIDs == [events[1]] && again.attempt == 2)
        // The event is kept while a delivery is still to be sent.
        let day = Int16(EventID(rawValue: events[1]).ringDay)
        let isOver = SQL.isRingDayOver(day, Int32(clamping: -1))
        #expect(try world.connection.run(isOver) == [false])
        try world.connection.execute("DELETE FROM fanfare.batches")
        #expect(try world.connection.run(isOver) == [true])
    }

    @Test func aChannelHasNoOtherEnvironment() throws {
        try world.device("aa", user: "u")
        let message =
            #""message": {"apns": {"payload": {"aps": {"timestamp": 1, "event": "end", "content-state": {}}}}}"#
        try world.rule("r", event: "e", to: #"{"channel": "YWJj"}"#, message)
        let targets = try world.connection.run(SQL.allTargets())
        world.catalog.targets.replace(targets)
        let devices = targets.filter { $0.nativeKey == nil }
        #expect(devices.count == 2)
        for target in targets {
            let other = devices.first { $0.environment != target.environment }?.id
            #expect(world.catalog.targets.otherEnvironment(of: target) == (target.nativeKey == nil ? other : nil))
        }
    }
}
