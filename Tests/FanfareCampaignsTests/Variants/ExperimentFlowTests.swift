import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// An experiment through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(2)))
struct ExperimentFlowTests {
    private static let members = """
        "experiment": {"share": "40%", "wait": "1m", "unclear": "best"}, "report": true,
            "message": {"notification": {"title": "T"}}, "variants": [
            {"name": "a", "message": {"notification": {"title": "a"}}}, {"name": "b", "message": {"notification": {"title": "b"}}}]
        """

    @Test func theRestGetsTheVariantThatMorePeopleOpened() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                for user in 0..<40 {
                    try world.device(
                        "db00\(user / 10)\(user % 10)" + String(repeating: "0", count: 58),
                        user: "u\(user)"
                    )
                }
                try world.put(campaign: "sale", Self.members)
                try world.connection.execute(
                    "INSERT INTO fanfare.reporting_devices SELECT id, now() - interval '1 day' FROM fanfare.devices"
                )
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.sale'"
            )
            try await flow.sql { try $0.start("sale") }
            try await flow.until(
                "SELECT count(*) > 0 FROM fanfare.batches AS b JOIN fanfare.runs AS o ON b.gate_id = o.held_gate_id WHERE o.planned = 40"
            )
            try await flow.until(
                "SELECT sum(cardinality(device_ids)) = 40 FROM (SELECT device_ids FROM fanfare.batch_log UNION ALL SELECT b.device_ids "
                    + "FROM fanfare.batches AS b JOIN fanfare.runs AS o ON b.gate_id = o.held_gate_id) AS x"
            )
            let sample = try await flow.received(by: "db00")
            #expect(Set(try sample.map { try $0.json("aps", "alert", "title")?.stringValue }) == ["a", "b"])
            // Everyone who got b opens it, with the handle of the push.
            for push in sample where try push.json("aps", "alert", "title") == "b" {
                let handle = try #require(try push.json("fanfare_report")?.stringValue)
                try await flow.sql { world in
                    let device = try world.connection.number(
                        "SELECT id FROM fanfare.devices WHERE token = '\(push.token)'"
                    )
                    #expect(try world.report(2, of: device, event: 0, handle: "'\(handle)'"))
                }
            }
            try await flow.until("SELECT count(*) = 0 FROM fanfare.reports_pending")
            try await flow.sql { try $0.connection.execute("UPDATE fanfare.runs SET canary_wait = '1 ms'") }
            try await flow.until("SELECT bool_and(state = 'done' AND winner = 'b') FROM fanfare.runs")
            try await flow.untilIdle()
            let all = try await flow.received(by: "db00")
            #expect(all.count == 40 && Set(all.map(\.token)).count == 40)
            let sampled = Set(sample.map(\.token))
            let rest = all.filter { !sampled.contains($0.token) }
            #expect(Set(try rest.map { try $0.json("aps", "alert", "title")?.stringValue }) == ["b"])
            // The handles of the rest name the same variant.
            let counts = try await flow.sql { world in
                let push = try #require(rest.first)
                let handle = try #require(try push.json("fanfare_report")?.stringValue)
                let device = try world.connection.number("SELECT id FROM fanfare.devices WHERE token = '\(push.token)'")
                #expect(try world.report(2, of: device, event: 0, handle: "'\(handle)'"))
                try world.foldReports()
                return try world.connection.column(
                    "SELECT DISTINCT fanfare.report_variant(rule_version, variant) FROM fanfare.report_counts"
                )
            }
            #expect(counts == ["b"])
            let problems = try await flow.sql {
                try $0.connection.number("SELECT count(*) FROM fanfare.audits WHERE found > 0")
            }
            #expect(problems == 0)
        }
    }
}
