/// The text formats for Prometheus.
public enum Exposition: Sendable {
    /// Prometheus' text format, version 0.0.4.
    case prometheus
    /// OpenMetrics 1.0.
    case openMetrics

    /// The `Content-Type` of a response.
    public var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Formats metrics.
    ///
    /// - Parameter families: the metrics; their names are distinct.
    /// - Returns: the text, sorted by name.
    public func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families.sorted(by: { $0.name < $1.name }) { write(family, to: &text) }
        if case .openMetrics = self { text += "# EOF\n" }
        return text
    }

    private func write(_ family: MetricFamily, to text: inout String) {
        // In OpenMetrics only the samples of a counter have the suffix.
        let isBare = self == .openMetrics && family.kind == .counter && family.name.hasSuffix("_total")
        let name = isBare ? String(family.name.dropLast(6)) : family.name
        if !family.help.isEmpty {
            text += "# HELP \(name) \(Self.escaped(family.help, quotes: self == .openMetrics))\n"
        }
        text += "# TYPE \(name) \(family.kind.rawValue)\n"
        for series in family.series {
            switch series.value {
            case .whole(let count): sample(family.name, series.labels, "\(count)", to: &text)
            case .number(let value): sample(family.name, series.labels, Self.number(value), to: &text)
            case .histogram(let histogram):
                for bucket in histogram.buckets {
                    let bound = MetricLabel("le", Self.number(bucket.upperBound))
                    let exemplar = self == .openMetrics ? bucket.exemplar.map(Self.text) ?? "" : ""
                    sample("\(family.name)_bucket", series.labels + [bound], "\(bucket.count)\(exemplar)", to: &text)
                }
                sample("\(family.name)_sum", series.labels, Self.number(histogram.sum), to: &text)
                sample("\(family.name)_count", series.labels, "\(histogram.count)", to: &text)
            }
        }
    }

    private func sample(_ name: String, _ labels: [MetricLabel], _ value: String, to text: inout String) {
        text += name
        if !labels.isEmpty { text += Self.text(labels) }
        text += " \(value)\n"
    }

    private static func text(_ labels: [MetricLabel]) -> String {
        "{" + labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
    }

    /// Formats an exemplar, which only OpenMetrics has.
    private static func text(_ exemplar: Exemplar) -> String {
        " # \(text(exemplar.labels)) \(number(exemplar.value)) \(number(exemplar.at))"
    }

    /// Formats a number; whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
