import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Campaigns with a rate through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(3)))
struct RateFlowTests {
    private static let count = 300

    /// The current time by the clock of received requests.
    private static var monotonicNanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// A campaign with a rate takes its time; one without a rate, to the same devices in the same lane, finishes first.
    @Test func aPacedCampaignTakesItsTimeAndNobodyElses() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'cc' || lpad(to_hex(n), 6, '0'))
                    FROM generate_series(1, \(Self.count)) AS n
                    """
                )
                try world.put(campaign: "slow", #""rate": "5/s""#)
                try world.put(campaign: "fast", #""message": {"notification": {"title": "F"}}"#)
            }
            try await flow.until(
                "SELECT count(*) = 2 FROM fanfare.rule_versions WHERE state = 'active' AND event_type LIKE 'campaign.%'"
            )
            let start = Self.monotonicNanoseconds
            try await flow.sql { world in
                _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'slow')")
            }
            #expect(try await flow.pushes(1, to: "cc").count >= 1)
            try await flow.sql { world in
                _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'fast')")
            }
            // At its rate the slow one would take a minute; the other finishes first, even on a busy machine.
            try await flow.until(
                """
                SELECT count(*) = 1 FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
                WHERE c.name = 'fast' AND o.state = 'done'
                """
            )
            let early = try await flow.received(by: "cc").filter { try $0.json("aps", "alert", "title") == "T" }
            #expect(early.count < Self.count, "the other waited for it")
            // A fifth of a second's worth may be sent at once, and each further push when half of it is free; no push
            // may be earlier.
            for (number, time) in early.map(\.nanoseconds).sorted().enumerated() {
                let elapsed = Double(time - start) / 1e9
                #expect(Double(number + 1) <= 1.5 + elapsed * 5 + 0.001, "push \(number + 1) came after \(elapsed) s")
            }
            // A new rate takes effect at once, for planned deliveries too.
            try await flow.sql { _ = try $0.put(campaign: "slow", #""rate": "100000/s""#) }
            let pushes = try await flow.pushes(2 * Self.count, to: "cc")
            let fast = try pushes.filter { try $0.json("aps", "alert", "title") == "F" }
            #expect(Set(fast.map(\.token)).count == Self.count)
            #expect(Set(pushes.map(\.token)).count == Self.count)
            try await flow.until("SELECT count(*) = 2 AND bool_and(state = 'done') FROM fanfare.runs")
            #expect(try await flow.received(by: "cc").count == 2 * Self.count, "nobody twice")
        }
    }

    /// With the rate it would take two minutes.
    @Test func whatNeedsNoRequestIsNotPaced() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.devices(2400)
                try world.put(campaign: "slow", #""rate": "20/s""#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type LIKE 'campaign.%'"
            )
            try await flow.sql { world in
                _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'slow')")
            }
            try await flow.until("SELECT sum(cardinality(device_ids)) > 2000 FROM fanfare.batches")
            try await flow.sql { try $0.connection.execute("SELECT fanfare.cancel(event_id) FROM fanfare.runs") }
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.batches)", seconds: 180)
            let cancelled = "SELECT count(*) > 2000 FROM fanfare.deliveries WHERE outcome = 'cancelled'"
            #expect(try await flow.sql { try $0.connection.text(cancelled) } == "t")
        }
    }
}
