import Foundation

/// The bar that a figure is compared with.
struct Bar: Encodable {
    /// The side of the limit on which the bar is met.
    enum Side: String, Encodable {
        case atMost = "at_most"
        case atLeast = "at_least"
    }

    let side: Side
    let limit: Double

    static func atMost(_ limit: Double) -> Bar { Bar(side: .atMost, limit: limit) }
    static func atLeast(_ limit: Double) -> Bar { Bar(side: .atLeast, limit: limit) }

    /// Returns whether a value meets the bar.
    func isMet(by value: Double) -> Bool {
        side == .atMost ? value <= limit : value >= limit
    }
}

/// A measured figure: a value for each run, and their median.
struct Figure {
    /// The dotted name for programs.
    let id: String
    let title: String
    let unit: String
    let values: [Double]
    var bar: Bar?

    /// The median; the lower one of two for an even number of values.
    var median: Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[(sorted.count - 1) / 2]
    }
}

extension Figure: Encodable {
    private enum CodingKeys: String, CodingKey {
        case id, title, unit, median, values, bar
        case isMet = "met"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(title, forKey: .title)
        try container.encode(unit, forKey: .unit)
        try container.encode(median, forKey: .median)
        try container.encode(values, forKey: .values)
        try container.encodeIfPresent(bar, forKey: .bar)
        try container.encodeIfPresent(bar?.isMet(by: median), forKey: .isMet)
    }
}

/// All figures of a bench.
struct BenchReport: Encodable {
    /// The conditions of the measurement, which make reports comparable.
    let setting: [String: String]
    var figures: [Figure] = []

    init(setting: [String: String]) {
        self.setting = setting
    }

    /// Adds a figure, unless it has no values.
    mutating func add(_ id: String, _ title: String, _ unit: String, _ values: [Double], bar: Bar? = nil) {
        guard !values.isEmpty else { return }
        figures.append(Figure(id: id, title: title, unit: unit, values: values, bar: bar))
    }

    /// Formats the report as one line of JSON.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// The report as a table.
    var text: String {
        var lines = setting.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let width = figures.map(\.title.count).max() ?? 0
        lines.append("")
        for figure in figures {
            let title = figure.title.padding(toLength: width, withPad: " ", startingAt: 0)
            let value = Self.leftPadded(Self.number(figure.median), to: 10)
            let unit = figure.unit.padding(toLength: 6, withPad: " ", startingAt: 0)
            lines.append("\(title) \(value) \(unit) \(Self.verdict(figure))")
        }
        return lines.joined(separator: "\n")
    }

    private static func verdict(_ figure: Figure) -> String {
        guard let bar = figure.bar else { return "" }
        let limit = (bar.side == .atMost ? "≤ " : "≥ ") + number(bar.limit)
        return bar.isMet(by: figure.median) ? "\(limit)" : "\(limit)  MISSED"
    }

    private static func leftPadded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Formats a number with about three significant digits; larger numbers as integers.
    private static func number(_ value: Double) -> String {
        let decimals = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2
        return String(format: "%.\(decimals)f", value)
    }
}
