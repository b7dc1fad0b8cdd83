/// A chart in its frame: what it is, the drawing, its axes and key as HTML, so that they keep their size, and its table.
struct ChartFigure: ViewContext {
    /// Unique on the page.
    let id: String
    let title: String
    /// What it shows, in a sentence, for who cannot see it.
    let summary: String
    /// The plot alone: it stretches to any width.
    let plot: Markup
    /// From the top down to zero, at equal distances.
    let upright: [String]
    /// From left to right, at equal distances: at the ends of as many parts, or below the middle of each.
    let along: [ChartTick]
    /// Whether each stands below its part.
    let isBanded: Bool
    /// One for each series; nothing where there is one only.
    let key: [ChartKey]
    /// The heads of the table; the first is that of the rows.
    let heads: [String]
    /// The newest first.
    let rows: [ChartLine]
    /// Stands in the plot's place where there is nothing.
    let nothing: String?
}

/// What stands below the plot.
struct ChartTick: ViewContext {
    let time: Moment?
    let label: String?
}

/// What a colour means.
struct ChartKey: ViewContext {
    /// `series-1` … `series-6`, or that of a tone.
    let kind: String
    let name: String
    /// The sum, or the last.
    let value: String
}

/// A line of a chart's table.
struct ChartLine: ViewContext {
    let time: Moment?
    let label: String?
    let cells: [String]
}

/// One line, or one layer of bars.
struct ChartSeries: Sendable {
    let name: String
    /// By which the style sheet colours it.
    let kind: ChartKind
    /// One for each time; nil where nothing is known.
    let values: [Double?]
    /// Over all of the time, for what cannot be added up; the last value stands in the key where it is nil.
    var whole: Double? = nil
}

/// What a series means: the colour goes with the meaning, not with the place.
enum ChartKind: String, Sendable {
    case accepted, retrying, rejected, gone, own
    case first, second, third

    /// The class.
    var name: String { "series-\(rawValue)" }
}

/// How the figures of a chart are written.
enum ChartUnit: Sendable {
    case count, perSecond, seconds

    /// A figure for people.
    func text(_ value: Double) -> String {
        switch self {
        case .count: FigureText.short(value)
        case .perSecond: "\(FigureText.short(value))/s"
        case .seconds: value == 0 ? "0" : FigureText.duration(value)
        }
    }

    /// Whether lines lie at whole numbers only.
    var isWhole: Bool { self == .count }
}
