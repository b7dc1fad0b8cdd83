import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareRecords
@testable import FanfareTools
@testable import fanfare

/// The command that shows what devices reported.
@Suite(.database) struct ReportsCommandTests {
    private func row(_ variant: String?, _ accepted: Int64?, _ opened: Int64) -> ReportFunnelRow {
        ReportFunnelRow(
            app: "shop",
            rule: "ab",
            variant: variant,
            day: nil,
            eventID: 7,
            accepted: accepted,
            received: 0,
            shown: 0,
            opened: opened,
            acted: 0,
            dismissed: 0,
            converted: 0,
            value: nil
        )
    }

    @Test func variantsFollowTheirSum() {
        let rows = [row("a", nil, 3), row("b", nil, 4), row(nil, 9_000, 0)]
        let lines = ReportFunnelLine.table(rows).split(separator: "\n").map { line in
            line.split(separator: "  ").map { $0.trimmingPrefix(" ") }.joined(separator: "|")
        }
        #expect(
            lines.dropLast() == [
                "APP|RULE|VARIANT|ACCEPTED|RECEIVED|SHOWN|OPENED|ACTED|CONVERTED|DISMISSED",
                "shop|ab|all|9000|0 of 9000|0 of 9000|7 of 9000|0 of 9000|0 of 9000|0 of 9000",
                "shop|ab|a|-|0|0|3|0|0|0", "shop|ab|b|-|0|0|4|0|0|0",
            ]
        )
    }

    @Test func theLiftIsTold() {
        let held = LiftRow(
            app: "shop",
            rule: "ab",
            variant: "holdout",
            people: 1000,
            notReporting: 400,
            opened: 0,
            converted: 50,
            rate: 0.05,
            lift: nil,
            low: nil,
            high: nil
        )
        let sent = LiftRow(
            app: "shop",
            rule: "ab",
            variant: nil,
            people: 9000,
            notReporting: 3600,
            opened: 81,
            converted: 441,
            rate: 0.049,
            lift: -0.001,
            low: -0.015,
            high: 0.0131
        )
        let lines = LiftRow.table([held, sent]).split(separator: "\n").map { line in
            line.split(separator: "  ").map { $0.trimmingPrefix(" ") }.joined(separator: "|")
        }
        #expect(
            lines == [
                "RULE|VARIANT|PEOPLE|OPENED|CONVERTED|LIFT|INTERVAL",
                "ab|holdout|1000|0 of 600|50 (5.00%)|-|-", "ab|-|9000|81 of 5400|441 (4.90%)|-0.10|-1.50 to 1.31",
                "4000 people have no device that reports receipts; `opened` leaves them out. The lift is in percentage points against the "
                    + "holdout, with its interval of 95%.",
            ]
        )
    }

    @Test func eventsRulesAndCampaignsHaveReports() async throws {
        let world = try World()
        let device = try world.device("aa10", user: "ann")
        try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, #""report": true"#)
        let event = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        try world.answer()
        try world.report(2, of: device, event: event)
        try world.foldReports()
        try world.put(campaign: "sale")
        try await toolDatabase().whileOpen { database throws(any Error) in
            let found = try await database.funnel(ofEvent: event)
            #expect(found.map(\.rule) == ["chat"] && found.map(\.accepted) == [1] && found.map(\.opened) == [1])
            #expect(found.first?.json["event_id"] == .string("\(event)"))
            let days = try await database.funnel(ofRule: "chat", app: "shop", days: 7)
            #expect(days.count == 1 && days.first?.opened == 1 && days.first?.eventID == nil)
            #expect(try await database.funnel(ofCampaign: "sale", app: "shop").isEmpty)
            await #expect(throws: ToolError.self) { try await database.funnel(ofEvent: 7) }
            await #expect(throws: ToolError.self) { try await database.funnel(ofRule: "no", app: "shop", days: 7) }
            await #expect(throws: ToolError.self) { try await database.funnel(ofCampaign: "no", app: "shop") }
        }
    }
}
