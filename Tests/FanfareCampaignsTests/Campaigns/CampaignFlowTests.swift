import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Campaigns through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(2)))
struct CampaignFlowTests {
    @Test func whatIsPutIsInForceAtOnceAndWhatIsStartedArrives() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                for user in 0..<5 {
                    try world.device("ca\(user)" + String(repeating: "0", count: 61), user: "u\(user)")
                }
                try world.put(
                    campaign: "hello",
                    #""payload": {"sale": "winter"}, "message": {"notification": {"title": "The {{sale}} sale"}}"#
                )
            }
            try await flow.until("SELECT state = 'active' FROM fanfare.campaigns")
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.hello'"
            )
            try await flow.sql { world in
                _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'hello')")
            }
            let pushes = try await flow.pushes(5, to: "ca")
            #expect(Set(pushes.map(\.token)).count == 5)
            #expect(try pushes[0].json("aps", "alert", "title") == "The winter sale")
            try await flow.until("SELECT state = 'done' AND ended_at IS NOT NULL FROM fanfare.runs")
            try await flow.untilIdle()
            #expect(try await flow.received(by: "ca").count == 5, "nobody twice")
        }
    }

    @Test func whatWasDueWhileNobodyRanIsFiredWhenOneComes() async throws {
        let flow = try Flow.idle()
        try await flow.sql { world in
            try world.device("cb0" + String(repeating: "0", count: 61), user: "ann")
            try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *", "time_zone": "Europe/Madrid"}"#)
            try world.schedule()
            try world.missed("daily", "1 week")
        }
        try await Flow.run { flow in
            _ = try await flow.pushes(1, to: "cb")
            try await flow.until("SELECT bool_or(state = 'done') FROM fanfare.runs")
            let states = try await flow.sql {
                try $0.connection.column("SELECT state FROM fanfare.runs ORDER BY id")
            }
            #expect(states == ["skipped", "done"], "the last of the week")
        }
    }
}
