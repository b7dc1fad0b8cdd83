/// A chart in its frame: title, drawing, axes and key, and a table.
///
/// Axes and key are HTML, so that they keep their size.
package struct ChartFigure: ViewContext {
    /// An id that is unique on the page.
    let id: String
    let title: String
    /// A sentence that describes the chart for screen readers.
    let summary: String
    /// The plot alone, which stretches to any width.
    let plot: Markup
    /// The labels of the vertical axis, from the top down to zero, at equal distances.
    let upright: [String]
    /// The labels of the horizontal axis, from left to right at equal distances: at the ends of the parts, or below the
    /// middle of each.
    let along: [ChartTick]
    /// Whether each label is below its part.
    let isBanded: Bool
    /// An entry for each series; empty for a single series.
    let key: [ChartKey]
    /// The heads of the table; the first is that of the row names.
    let heads: [String]
    /// The rows of the table, newest first.
    let rows: [ChartLine]
    /// The text in the plot's place if there is no data.
    let nothing: String?
}

/// A label below the plot.
struct ChartTick: ViewContext {
    let time: Moment?
    let label: String?
}

/// An entry of the chart's key.
struct ChartKey: ViewContext {
    /// The CSS class: `series-1` … `series-6`, or that of a tone.
    let kind: String
    let name: String
    /// The sum, or the last value.
    let value: String
}

/// A row of a chart's table.
struct ChartLine: ViewContext {
    let time: Moment?
    let label: String?
    let cells: [String]
}

/// One line, or one layer of bars.
package struct ChartSeries: Sendable {
    let name: String
    /// The meaning, which decides the colour.
    let kind: ChartKind
    /// The value of each step; nil if unknown.
    let values: [Double?]
    /// The value over the whole time, for values that cannot be added up; the key shows the last value if it is nil.
    var whole: Double?

    package init(name: String, kind: ChartKind, values: [Double?], whole: Double? = nil) {
        (self.name, self.kind, self.values, self.whole) = (name, kind, values, whole)
    }
}

/// The meaning of a series, which decides its colour.
package enum ChartKind: String, Sendable {
    case accepted, retrying, rejected, gone, own
    case first, second, third

    /// The CSS class.
    var name: String { "series-\(rawValue)" }
}

/// The unit of a chart's values.
package enum ChartUnit: Sendable {
    case count, perSecond, seconds

    /// Formats a value.
    func text(_ value: Double) -> String {
        switch self {
        case .count: FigureText.short(value)
        case .perSecond: "\(FigureText.short(value))/s"
        case .seconds: value == 0 ? "0" : FigureText.duration(value)
        }
    }

    /// Whether grid lines are at whole numbers only.
    var isWhole: Bool { self == .count }
}
