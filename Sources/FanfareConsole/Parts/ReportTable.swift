internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools

/// How many of the accepted pushes devices reported, by rule and variant.
struct ReportTable: ViewContext {
    let title: String
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
            title: "Reports",
            column: column,
            kinds: ReportFunnelLine.kinds.map { $0.prefix(1).uppercased() + $0.dropFirst() },
            rows: ReportFunnelLine.lines(rows).map { ReportLine($0, name: name) },
            note: note
                + "Not all devices can report, and devices that are off report late or never: these are not shares of all recipients."
        )
    }
}

extension ReportTable {
    /// Shows a comparison; nil if there is none.
    ///
    /// - Parameter rows: the people of each variant.
    init?(_ rows: [LiftRow]) {
        guard rows.contains(where: { $0.variant != nil }) else { return nil }
        let silent = rows.reduce(0) { $0 + $1.notReporting }
        self.init(
            title: "Comparison",
            column: "Rule",
            kinds: ["People", "Opened", "Converted", "Lift in points"],
            rows: rows.map(ReportLine.init),
            note:
                "\(FigureText.counted(silent, "person", "people")) without a device that reports receipts are left out of those who opened. "
                + "The lift is against the holdout, with its interval of 95 %."
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
    /// Shows the people of one variant.
    fileprivate init(_ row: LiftRow) {
        let lift = row.lift.map { lift in
            let interval = row.low.flatMap { low in row.high.map { " (\(Self.points(low)) to \(Self.points($0)))" } }
            return Self.points(lift) + (interval ?? "")
        }
        self.init(
            name: row.rule,
            variant: row.variant ?? "–",
            cells: [
                FigureText.count(row.people),
                "\(FigureText.count(row.opened)) of \(FigureText.count(row.people - row.notReporting))",
                row.converted.map { "\(FigureText.count($0)) (\(FigureText.share($0, of: row.people)))" } ?? "–",
                lift ?? "–",
            ]
        )
    }

    private static func points(_ share: Double) -> String { FigureText.short(share * 100) }

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
