import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConsole
@testable import FanfareConsoleView
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// Checks that rates name the time they cover, and sums the deliveries they count.
@Suite(.database) struct OverviewNumberTests {
    private static let now: Int64 = 1_795_701_802_000_000

    private func traffic(_ counts: [(outcome: String, reason: String, count: Int64)]) -> TrafficDigest {
        let rows = counts.map { count in
            OutcomesOverTimeRow(
                at: Timestamp(microseconds: Self.now),
                outcome: count.outcome,
                reason: count.reason,
                deliveries: count.count
            )
        }
        return TrafficDigest((outcomes: rows, times: [], fates: [], meanings: []), .hour, at: Self.now)
    }

    @Test func aRateNamesItsTime() throws {
        // The 22 seconds of this minute, and the whole minute before.
        let digest = traffic([("accepted", "accepted", 820)])
        let accepted = try #require(digest.figures.first { $0.name == "Accepted" })
        #expect(accepted.value == "10" && accepted.note == "over the last 1 min 22 s · 820 in 1 hour")
        let events = try #require(digest.figures.first { $0.name == "Events" })
        #expect(events.note.hasPrefix("over the last 1 min 22 s"))
    }

    @Test func whatExpiredOrIsGoneIsNotDelivered() throws {
        let digest = traffic([
            ("accepted", "accepted", 97), ("expired", "ttl_passed", 2), ("gone", "Unregistered", 1),
            ("retrying", "unavailable", 40), ("held_out", "holdout", 1000),
        ])
        let missing = try #require(digest.figures.first { $0.name == "Not delivered" })
        #expect(missing.value == "3.0" && missing.unit == "%" && missing.note == "2 expired, 1 gone in 1 hour")
        #expect(!digest.figures.contains { $0.name == "Failed" })
        // A retried delivery has not ended.
        #expect(digest.outcomes.map(\.badge.words) == ["held out", "accepted", "expired", "gone"])
    }

    @Test func emitToAcceptedSaysThatCampaignsAreLeftOut() throws {
        let times = PageSpan.hour.times(at: Self.now)
        let row = CountsOverTimeRow(at: Timestamp(microseconds: Self.now), lane: 1, code: 3, count: 9)
        let answers = AnswerTimes([row], times)
        #expect(answers.keyFigure(.hour).note.hasSuffix("without campaigns"))
        #expect(answers.chart(.hour).title.contains("campaigns excluded"))
    }

    @Test func theAxesOfChartsBesideEachOtherEndAtTheSameTime() throws {
        let times = PageSpan.hour.times(at: Self.now)
        func ends(_ shape: TimeChart.Shape) -> [String] {
            let values = [Double?](repeating: 1, count: times.count)
            let chart = TimeChart(
                id: "c",
                title: "T",
                shape: shape,
                unit: .count,
                times: times,
                series: [ChartSeries(name: "s", kind: .first, values: values)]
            )
            return chart.figure.along.compactMap { $0.time?.iso }
        }
        #expect(ends(.lines) == ends(.bars) && ends(.lines).last == "2026-11-26T14:04:00Z")
    }

    private func badge(newest: [(String, Int64)], recent: [(String, Int64)]) -> (
        words: String, tone: String, told: String?
    ) {
        func rows(_ counts: [(String, Int64)]) -> [AnswersByReasonRow] {
            counts.map { outcome, count in
                AnswersByReasonRow(
                    app: "shop",
                    provider: "fcm",
                    environment: "production",
                    outcome: outcome,
                    reason: outcome == "retrying" ? "unavailable" : outcome,
                    deliveries: count,
                    lastAt: Timestamp(microseconds: Self.now)
                )
            }
        }
        let figures: ProviderDigest.Rows = (
            answers: rows(recent),
            recent: rows(recent),
            newest: rows(newest),
            outcomes: [],
            times: [],
            meanings: []
        )
        let key = ProviderKey(app: "shop", provider: "fcm", environment: "production")
        let card = ProviderCard(key, ProviderDigest(figures, .hour, at: Self.now), .hour, [], [], at: Self.now)
        return (card.badge.words, card.badge.tone, card.words)
    }

    @Test func aProviderThatTakesNothingIsNotWell() {
        // 5.7 % over five minutes, because the provider has been down for seconds only.
        let down = badge(newest: [("retrying", 57)], recent: [("accepted", 943), ("retrying", 57)])
        #expect(down.words == "down" && down.tone == "bad")
        #expect(down.told?.hasPrefix("100 % of the responses in the last 1 min 22 s are retrying, unavailable") == true)
        let failing = badge(newest: [("accepted", 3), ("retrying", 7)], recent: [("accepted", 90), ("retrying", 7)])
        #expect(failing.words == "failing" && failing.tone == "bad")
        let errors = badge(newest: [("accepted", 75), ("retrying", 25)], recent: [("accepted", 75), ("retrying", 25)])
        #expect(errors.words == "errors" && errors.tone == "warn")
        let well = badge(newest: [("accepted", 100)], recent: [("accepted", 400), ("retrying", 1)])
        #expect(well.words == "OK" && well.tone == "good")
        #expect(badge(newest: [], recent: [("accepted", 5)]).words == "OK")
    }

    @Test func unitsAndAgesAreWrittenInOneWay() {
        for text in ["43200s", "43200", "12h", "720m"] { #expect(FigureText.span(text) == "12 h", "\(text)") }
        #expect(FigureText.span("soon") == "soon" && FigureText.span("90s") == "1 min 30 s")
        #expect(FigureText.ago(38_100_000) == "38 s ago" && FigureText.ago(200_000) == "0 s ago")
        #expect(FigureText.ago(-5) == "0 s ago" && FigureText.ago(130_000_000) == "2 min 10 s ago")
    }

    @Test func whatIsNotPlannedYetIsCounted() async throws {
        try await APIWorld.with { api in
            _ = try await api.rows("SELECT fanfare.emit('order', '{}') FROM generate_series(1, 286)")
            let page = try await api.console().scan("/")
            #expect(page.text.contains("286 events not planned yet") && !page.text.contains("nothing pending"))
            let database = try ToolDatabase(APIWorld.configuration(), environment: [:])
            let report = try await database.whileOpen { database throws(ToolError) in try await database.status() }
            #expect(report.text.contains("286 events not planned yet, the oldest emitted "))
            #expect(!report.text.contains("nothing is waiting"))
            #expect(report.json["unplanned"]?["events"] == 286 && report.json["unplanned"]?["is_more"] == false)
        }
    }
}
