/// A chart of values over time: lines, or stacked bars.
package struct TimeChart {
    /// The shape of the drawing.
    package enum Shape: Sendable {
        case lines, bars
    }

    /// An id that is unique on the page.
    let id: String
    let title: String
    let shape: Shape
    let unit: ChartUnit
    /// The start of each step, in microseconds since 1970, at equal distances.
    let times: [Int64]
    /// The series, the bottom layer first.
    let series: [ChartSeries]
    /// The format of times.
    let form: Moment.Form

    package init(
        id: String,
        title: String,
        shape: Shape,
        unit: ChartUnit,
        times: [Int64],
        series: [ChartSeries],
        form: Moment.Form = .minute
    ) {
        (self.id, self.title, self.shape, self.unit) = (id, title, shape, unit)
        (self.times, self.series, self.form) = (times, series, form)
    }

    private static let width = 1000.0
    private static let height = 200.0

    /// The chart in its frame.
    package var figure: ChartFigure {
        let scale = ChartScale(largest, whole: unit.isWhole)
        return ChartFigure(
            id: id,
            title: title,
            summary: summary,
            plot: isEmpty ? .none : Markup(text: plot(scale)),
            upright: scale.values.map(unit.text),
            along: isBanded ? bands : ticks,
            isBanded: isBanded,
            key: series.count < 2
                ? [] : series.map { ChartKey(kind: $0.kind.name, name: $0.name, value: total(of: $0)) },
            heads: ["Time"] + series.map(\.name),
            rows: times.indices.reversed().map { index in
                ChartLine(
                    time: moment(times[index]),
                    label: nil,
                    cells: series.map { value($0, index).map(unit.text) ?? "–" }
                )
            },
            nothing: isEmpty ? "No data in this period." : nil
        )
    }

    private var isEmpty: Bool { times.isEmpty || series.allSatisfy { $0.values.allSatisfy { ($0 ?? 0) == 0 } } }

    private func value(_ series: ChartSeries, _ index: Int) -> Double? {
        guard index < series.values.count, let value = series.values[index], value.isFinite else { return nil }
        return value
    }

    private var largest: Double {
        switch shape {
        case .lines: series.flatMap { series in times.indices.compactMap { value(series, $0) } }.max() ?? 0
        case .bars: times.indices.map { index in series.reduce(0) { $0 + (value($1, index) ?? 0) } }.max() ?? 0
        }
    }

    /// Returns the series' total for the key; rates and durations cannot be added up.
    private func total(of series: ChartSeries) -> String {
        if let whole = series.whole { return unit.text(whole) }
        let known = times.indices.compactMap { value(series, $0) }
        return switch shape {
        case .bars where unit == .count: unit.text(known.reduce(0, +))
        default: known.last.map(unit.text) ?? "–"
        }
    }

    private var summary: String {
        guard !isEmpty, let first = times.first, let last = times.last else {
            return "\(title): no data in this period."
        }
        let parts = series.map { series in
            let known = times.indices.compactMap { value(series, $0) }
            let most = known.max().map(unit.text) ?? "nothing"
            return "\(series.name) last \(known.last.map(unit.text) ?? "unknown"), at most \(most)"
        }
        let span = "\(Moment(first, .short).words) to \(Moment(last, .short).words)"
        return "\(title), \(span): \(parts.joined(separator: "; "))."
    }

    /// Returns the time of a step; days are in UTC, not in the reader's zone.
    private func moment(_ time: Int64) -> Moment {
        form == .day || form == .weekday ? Moment(time, as: Moment(time, form).words) : Moment(time, form)
    }

    /// Whether each bar has a label below it: for 31 bars at most.
    private var isBanded: Bool { shape == .bars && times.count <= 31 }

    private var bands: [ChartTick] {
        let every = (times.count + 4) / 5
        return times.indices.map { index in
            // The last step is labelled, and steps before it at equal distances.
            let isNamed = (times.count - 1 - index).isMultiple(of: every)
            return ChartTick(time: isNamed ? moment(times[index]) : nil, label: nil)
        }
    }

    private var ticks: [ChartTick] {
        guard let first = times.first, let last = times.last, times.count > 1 else { return [] }
        let step = (last - first) / Int64(times.count - 1)
        // The last step ends one step after it begins.
        let end = last + step
        return (0...4).map { ChartTick(time: moment(first + (end - first) * $0 / 4), label: nil) }
    }

    private func plot(_ scale: ChartScale) -> String {
        var text = SVGText.opening(class: "plot", width: Self.width, height: Self.height, id: id, title: title, summary)
        var grid = SVGPath()
        for part in 0..<scale.parts {
            let y = Self.height * Double(part) / Double(scale.parts)
            grid.move(0, y)
            grid.line(Self.width, y)
        }
        text += "<path class=\"grid\" vector-effect=\"non-scaling-stroke\" d=\"\(grid.text)\"/>"
        text += shape == .bars ? bars(scale) : lines(scale)
        return text + hints + "</svg>"
    }

    private func bars(_ scale: ChartScale) -> String {
        let step = Self.width / Double(times.count)
        var below = [Double](repeating: 0, count: times.count)
        var text = ""
        for series in series {
            var path = SVGPath()
            for index in times.indices {
                guard let value = value(series, index), value > 0 else { continue }
                let bottom = scale.share(below[index])
                below[index] += value
                let top = scale.share(below[index])
                path.rectangle(
                    (Double(index) + 0.1) * step,
                    Self.height * (1 - top),
                    step * 0.8,
                    Self.height * (top - bottom)
                )
            }
            text += "<path class=\"\(series.kind.name) bar\" d=\"\(path.text)\"/>"
        }
        return text
    }

    private func lines(_ scale: ChartScale) -> String {
        let step = Self.width / Double(times.count)
        return series.map { series in
            var path = SVGPath()
            var isDrawing = false
            for index in times.indices {
                // A gap stays a gap: the value is unknown.
                guard let value = value(series, index) else {
                    isDrawing = false
                    continue
                }
                // A value is drawn in the middle of its step, as a bar is.
                let x = (Double(index) + 0.5) * step
                let y = Self.height * (1 - scale.share(value))
                if isDrawing { path.line(x, y) } else { path.move(x, y) }
                // A single point is visible by its round line cap.
                if !isDrawing { path.line(x, y) }
                isDrawing = true
            }
            return "<path class=\"\(series.kind.name) line\" vector-effect=\"non-scaling-stroke\" d=\"\(path.text)\"/>"
        }.joined()
    }

    /// The tooltip of each step.
    private var hints: String {
        let step = Self.width / Double(times.count)
        return times.indices.map { index in
            let parts = series.compactMap { series in
                value(series, index).map { "\(series.name) \(unit.text($0))" }
            }
            let x = Double(index) * step
            let title = HTMLText.escaped("\(Moment(times[index], .short).words): \(parts.joined(separator: ", "))")
            return
                "<rect class=\"hint\" x=\"\(SVGPath.number(x))\" width=\"\(SVGPath.number(step))\" height=\"200\"><title>\(title)</title></rect>"
        }.joined()
    }
}

/// Helpers that all drawings share.
enum SVGText {
    /// Returns the opening tag of the element, with title and description for screen readers.
    static func opening(class name: String, width: Double, height: Double, id: String, title: String, _ summary: String)
        -> String
    {
        let id = HTMLText.escaped(id)
        return """
            <svg class="\(name)" viewBox="0 0 \(SVGPath.number(width)) \(SVGPath.number(height))" preserveAspectRatio="none" \
            role="img" aria-labelledby="\(id)-title \(id)-desc"><title id="\(id)-title">\(HTMLText.escaped(title))</title>\
            <desc id="\(id)-desc">\(HTMLText.escaped(summary))</desc>
            """
    }
}
