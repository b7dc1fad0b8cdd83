/// A line chart of one text line's height, beside the number that it explains.
package enum Sparkline {
    /// Draws the line, hidden from screen readers, which read the number beside it.
    ///
    /// - Parameters:
    ///   - values: values at equal distances; nil if unknown.
    ///   - kind: its colour.
    /// - Returns: the drawing; empty for fewer than two values.
    package static func markup(_ values: [Double?], _ kind: ChartKind = .first) -> Markup {
        let known = values.compactMap(\.self).filter(\.isFinite)
        guard values.count > 1, let largest = known.max() else { return .none }
        let step = 100 / Double(values.count - 1)
        var line = SVGPath()
        var area = SVGPath()
        var begin: Double?
        for (index, value) in values.enumerated() {
            let x = Double(index) * step
            guard let value, value.isFinite else {
                if let start = begin { close(&area, from: start, to: x - step) }
                begin = nil
                continue
            }
            let y = 23 - 21 * (largest > 0 ? max(0, value) / largest : 0)
            if begin == nil {
                begin = x
                line.move(x, y)
                area.move(x, y)
            } else {
                line.line(x, y)
                area.line(x, y)
            }
        }
        if let start = begin { close(&area, from: start, to: 100) }
        return Markup(
            text: """
                <svg class="spark \(kind.name)" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">\
                <path class="under" d="\(area.text)"/>\
                <path class="line" vector-effect="non-scaling-stroke" d="\(line.text)"/></svg>
                """
        )
    }

    private static func close(_ area: inout SVGPath, from start: Double, to end: Double) {
        area.line(end, 24)
        area.line(start, 24)
    }
}

/// A bar of the parts of a whole, of one text line's height.
package enum ShareBar {
    /// Draws the parts one after the other, hidden from screen readers.
    ///
    /// - Parameters:
    ///   - parts: the parts from the left.
    ///   - whole: the bar's full length; nothing is drawn past it.
    /// - Returns: the drawing; an empty track without parts.
    package static func markup(_ parts: [(kind: ChartKind, count: Int64)], of whole: Int64) -> Markup {
        var x = 0.0
        var text = ""
        let parts = parts.filter { $0.count > 0 && whole > 0 }
        // Small parts get a minimum width, at the cost of the largest part.
        var widths = parts.map { min(max(Double($0.count) / Double(whole) * 1000, 8), 1000) }
        let over = widths.reduce(0, +) - 1000
        if over > 0, let largest = widths.indices.max(by: { widths[$0] < widths[$1] }) {
            widths[largest] = max(widths[largest] - over, 0)
        }
        for (part, width) in zip(parts, widths) {
            text +=
                "<rect class=\"\(part.kind.name)\" x=\"\(SVGPath.number(x))\" width=\"\(SVGPath.number(width))\" height=\"8\"/>"
            x += width
        }
        return Markup(
            text: """
                <svg class="share" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">\
                <rect class="track" width="1000" height="8"/>\(text)</svg>
                """
        )
    }
}

/// A bar that shows the start and end of a step among others.
package enum SpanBar {
    /// Draws the bar, hidden from screen readers.
    ///
    /// - Parameters:
    ///   - start: the time since the start of the first step.
    ///   - length: the duration in the same unit; zero is drawn as a mark.
    ///   - whole: the duration of all steps together.
    ///   - kind: its colour.
    /// - Returns: the drawing.
    package static func markup(start: Double, length: Double, of whole: Double, _ kind: ChartKind = .first) -> Markup {
        let whole = whole > 0 && whole.isFinite ? whole : 1
        let width = min(max(length / whole * 1000, 6), 1000)
        let x = min(max(start / whole * 1000, 0), 1000 - width)
        return Markup(
            text: """
                <svg class="span" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
                <rect class="track" y="4.5" width="1000" height="1"/>\
                <rect class="\(kind.name)" x="\(SVGPath.number(x))" width="\(SVGPath.number(width))" height="10"/></svg>
                """
        )
    }
}

/// The counts of several classes.
package struct Histogram {
    /// An id that is unique on the page.
    let id: String
    let title: String
    /// The noun of the counts: `answers`.
    let counted: String
    /// The name and count of each class, smallest class first.
    let classes: [(name: String, count: Int64)]
    private let kind = ChartKind.first

    package init(id: String, title: String, counted: String, classes: [(name: String, count: Int64)]) {
        (self.id, self.title, self.counted, self.classes) = (id, title, counted, classes)
    }

    /// The chart in its frame.
    package var figure: ChartFigure {
        let scale = ChartScale(Double(classes.map(\.count).max() ?? 0))
        let total = classes.reduce(0) { $0 + $1.count }
        let most = classes.max { $0.count < $1.count }
        let summary =
            total == 0
            ? "\(title): none."
            : "\(title): \(FigureText.count(total)) \(counted), most often \(most?.name ?? "") with \(FigureText.share(most?.count ?? 0, of: total))."
        return ChartFigure(
            id: id,
            title: title,
            summary: summary,
            plot: total == 0 ? .none : Markup(text: plot(scale, summary)),
            upright: scale.values.map(FigureText.short),
            along: classes.map { ChartTick(time: nil, label: $0.name) },
            isBanded: true,
            key: [],
            heads: ["Class", counted.prefix(1).uppercased() + counted.dropFirst(), "Share"],
            rows: classes.map {
                ChartLine(
                    time: nil,
                    label: $0.name,
                    cells: [FigureText.count($0.count), FigureText.share($0.count, of: total)]
                )
            },
            nothing: total == 0 ? "No data in this period." : nil
        )
    }

    private func plot(_ scale: ChartScale, _ summary: String) -> String {
        let step = 1000 / Double(classes.count)
        var text = SVGText.opening(class: "plot", width: 1000, height: 200, id: id, title: title, summary)
        var path = SVGPath()
        var hints = ""
        for (index, entry) in classes.enumerated() {
            let height = 200 * scale.share(Double(entry.count))
            let x = Double(index) * step
            path.rectangle(x + step * 0.1, 200 - height, step * 0.8, height)
            let title = HTMLText.escaped("\(entry.name): \(FigureText.count(entry.count)) \(counted)")
            hints +=
                "<rect class=\"hint\" x=\"\(SVGPath.number(x))\" width=\"\(SVGPath.number(step))\" height=\"200\"><title>\(title)</title></rect>"
        }
        text += "<path class=\"\(kind.name) bar\" d=\"\(path.text)\"/>"
        return text + hints + "</svg>"
    }
}
