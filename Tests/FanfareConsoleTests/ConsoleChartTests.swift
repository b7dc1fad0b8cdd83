import Testing

@testable import APIKit
@testable import FanfareConsoleView

/// Tests of the drawings as text.
@Suite struct ConsoleChartTests {
    private func chart(_ shape: TimeChart.Shape, _ values: [[Double?]], unit: ChartUnit = .count) -> ChartFigure {
        TimeChart(
            id: "c",
            title: "Pushes",
            shape: shape,
            unit: unit,
            times: (0..<(values.first?.count ?? 0)).map { Int64($0) * 60_000_000 },
            series: zip(values, [ChartKind.accepted, .gone]).map {
                ChartSeries(name: $1.rawValue, kind: $1, values: $0)
            }
        ).figure
    }

    @Test(arguments: [0, 0.3, 1, 3, 7, 10, 11, 99, 100, 101, 64_000, 1_234_567, 9e15])
    func axesEndAtRoundNumbersJustAbove(largest: Double) {
        let scale = ChartScale(largest)
        #expect(scale.end >= largest && (1...5).contains(scale.parts))
        #expect(scale.end <= max(largest * 1.5, 1), "\(scale.end)")
        #expect(scale.values.first == scale.end && scale.values.last == 0)
        #expect(scale.values.allSatisfy { $0 == $0.rounded() })
    }

    @Test func axesBearWhatIsNoNumber() {
        #expect(ChartScale(.nan).end == 1 && ChartScale(.infinity).end == 1 && ChartScale(-4).end == 1)
        #expect(ChartScale(0.0123, whole: false).end < 0.02)
    }

    @Test func barsStandOnEachOther() {
        let figure = chart(.bars, [[50, 100], [50, 0]])
        // Two bars of 400 in steps of 500: the lower half, the upper half, and a single one.
        #expect(
            figure.plot.text.contains("class=\"series-accepted bar\" d=\"M50 100h400v100h-400zM550 0h400v200h-400z\"")
        )
        #expect(figure.plot.text.contains("class=\"series-gone bar\" d=\"M50 0h400v100h-400z\""))
        #expect(figure.upright == ["100", "80", "60", "40", "20", "0"])
        #expect(figure.key.map(\.value) == ["150", "50"])
        #expect(figure.rows.map(\.cells) == [["100", "0"], ["50", "50"]])
        #expect(figure.isBanded && figure.along.count == 2)
    }

    @Test func whatIsUnknownIsAGap() {
        let figure = chart(.lines, [[1, nil, 1, 1, nil]])
        #expect(figure.plot.text.contains("d=\"M100 0L100 0M500 0L500 0L700 0\""))
        #expect(figure.rows.map(\.cells) == [["–"], ["1"], ["1"], ["–"], ["1"]])
        #expect(figure.key.isEmpty)
    }

    @Test func nothingIsSaidToBeNothing() {
        for figure in [chart(.lines, [[nil, nil]]), chart(.bars, [[0, 0]]), chart(.bars, [[]]), chart(.bars, [])] {
            #expect(figure.nothing != nil && figure.plot == .none)
        }
        #expect(Histogram(id: "h", title: "t", counted: "answers", classes: []).figure.nothing != nil)
        #expect(Sparkline.markup([1]) == .none && Sparkline.markup([nil, nil]) == .none)
    }

    @Test func drawingsAreSoundWhateverTheyAreCalled() {
        let name = "</title><script>\"\u{301}"
        let figures = [
            TimeChart(
                id: name,
                title: name,
                shape: .bars,
                unit: .seconds,
                times: [0, 60_000_000],
                series: [ChartSeries(name: name, kind: .own, values: [.infinity, 1e300])]
            ).figure,
            Histogram(id: name, title: name, counted: name, classes: [(name, 1), (name, .max / 4)]).figure,
        ]
        let markups =
            figures.map(\.plot) + [
                Sparkline.markup([.nan, .infinity, -1, 1]), ShareBar.markup([(.gone, .max / 2), (.own, 5)], of: 3),
                SpanBar.markup(start: .infinity, length: -1, of: 0),
            ]
        for markup in markups {
            let scan = HTMLScan(markup.text)
            #expect(scan.problems.isEmpty && scan.elements.first?.name == "svg", "\(markup.text)")
            #expect(!scan.elements.contains { $0.name == "script" })
            #expect(!markup.text.contains("nan") && !markup.text.contains("inf"))
        }
    }

    @Test func smallSharesAreSeen() {
        let bar = HTMLScan(ShareBar.markup([(.accepted, 999_999), (.gone, 1)], of: 1_000_000).text)
        let widths = bar.elements.filter { $0["class"]?.hasPrefix("series") == true }.compactMap { $0["width"] }
        #expect(widths == ["992", "8"])
    }
}
