@testable import FanfareConsole

extension Demo {
    /// Makes a table of reports with one line and a variant.
    static func reports(_ column: String, _ name: String, accepted: Int) -> ReportTable {
        ReportTable(
            title: "Reports",
            column: column,
            kinds: ["Received", "Shown", "Opened", "Acted", "Converted", "Dismissed"],
            rows: ["all", "short"].map { variant in
                ReportLine(
                    name: name,
                    variant: variant,
                    cells: ["8,012", "7,450", "1,204", "96", "61", "2,310"].map { "\($0) of \(accepted) accepted" }
                )
            },
            note: "Not all devices can report: these are not shares of all recipients."
        )
    }
}
