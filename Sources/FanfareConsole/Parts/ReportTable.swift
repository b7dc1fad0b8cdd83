internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools

/// How many of the accepted pushes devices reported, by rule and variant.
struct ReportTable: ViewContext {
    /// The heading of the first column.
    let column: String
    /// The headings of the kinds.
    let kinds: [String]
    let rows: [ReportLine]
    let note: String
}

extension ReportTable {
    /// Shows counts; nil if there are none.
    ///
    /// - Parameters:
    ///   - rows: the counts.
    ///   - column: the heading of the first column.
    ///   - name: the first cell of all rows; nil for the day or the rule.
    ///   - note: a sentence about the rows, before the one about devices.
    init?(_ rows: [ReportFunnelRow], column: String = "Rule", name: String? = nil, note: String = "") {
        guard !rows.isEmpty else { return nil }
        self.init(
            column: column,
            kinds: ReportFunnelLine.kinds.map { $0.prefix(1).uppercased() + $0.dropFirst() },
            rows: ReportFunnelLine.lines(rows).map { ReportLine($0, name: name) },
            note: note
                + "Not all devices can report, and devices that are off report late or never: these are not shares of all recipients."
        )
    }
}

/// The counts of one rule or variant.
struct ReportLine: ViewContext {
    let name: String
    let variant: String
    /// `12 of 340 accepted`, for each kind; with the sum of their values for conversions.
    let cells: [String]
}

extension ReportLine {
    /// Shows one line.
    fileprivate init(_ line: ReportFunnelLine, name: String?) {
        let whole = line.accepted.map { " of \(FigureText.count($0)) accepted" } ?? ""
        self.init(
            name: name ?? line.day ?? line.rule,
            variant: line.variant ?? "–",
            cells: zip(ReportFunnelLine.kinds, line.devices).map { kind, count in
                let value = kind == "converted" ? line.value.map { ", value \($0)" } ?? "" : ""
                return "\(FigureText.count(count))\(whole)\(value)"
            }
        )
    }
}
