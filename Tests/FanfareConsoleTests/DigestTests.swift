import Testing

@testable import FanfareConsoleView

/// Tests of the digests that pages make of counts.
@Suite struct DigestTests {
    @Test func percentilesLieWithinTheirClasses() {
        var times = TimeClasses([0.1, 1, 10])
        #expect(times.quantile(0.5) == nil)
        times.add(100, 1)
        #expect(times.quantile(0.5).map { ($0 * 100).rounded() } == 55)
        times.add(100, 3)
        times.add(1, 99)
        #expect(times.quantile(0.99) == 10, "nothing is known of what took longer")
        #expect(times.total == 201)
        #expect(times.merged(at: [1, 10]).map(\.count) == [100, 0, 101])
        #expect(times.merged(at: [1, 10]).map(\.name) == ["1 s", "10 s", "> 10 s"])
    }

    @Test func stepsAreThoseThatAreKept() {
        let now: Int64 = 1_795_701_802_000_000
        for span in PageSpan.allCases {
            let times = span.times(at: now)
            #expect(Int64(times.count) == span.steps)
            #expect(times.allSatisfy { $0.isMultiple(of: span.step * 1_000_000) })
            #expect(times.last.map { $0 <= now && now - $0 < span.step * 1_000_000 } == true)
            // Steps of a minute are kept for six hours, of ten minutes for two days, then of an hour.
            let age = span.step * span.steps
            #expect(span.step.isMultiple(of: age <= 6 * 3600 - 600 ? 60 : age <= 2 * 86_400 - 3600 ? 600 : 3600))
        }
    }

    @Test func timesOfAddressesAreOfTheCalendar() {
        let now: Int64 = 1_795_701_802_000_000
        #expect(PageTime("2026-11-26T14:03", at: now)?.microseconds == 1_795_701_780_000_000)
        #expect(PageTime("2026-11-26T14:03:22Z", at: now)?.microseconds == now)
        #expect(PageTime("2024-02-29T00:00", at: now)?.field == "2024-02-29T00:00:00")
        #expect(PageTime("1970-01-01T00:00", at: now)?.microseconds == 0)
        #expect(PageTime("1h", at: now)?.microseconds == now - 3_600_000_000)
        for text in ["2026-02-30T00:00", "2026-13-01T00:00", "2026-11-26", "yesterday", "", "2026-11-26T24:00"] {
            #expect(PageTime(text, at: now) == nil, "\(text)")
        }
    }

    @Test func countsGoIntoTheirSteps() {
        var counts = StepCounts<String>([100, 200, 300])
        for (time, count) in [(99, 1), (100, 2), (199, 4), (300, 8), (999, 16)] as [(Int64, Int64)] {
            counts.add(count, of: "a", at: time)
        }
        counts.add(5, of: "b", at: 250)
        #expect(counts.counts == ["a": [6, 0, 24], "b": [0, 5, 0]])
        #expect(counts.steps { _ in true } == [6, 5, 24] && counts.sum { $0 == "a" } == 30)
    }
}
