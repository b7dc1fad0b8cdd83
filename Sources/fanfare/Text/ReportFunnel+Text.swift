import FanfareRecords
import FanfareTools

extension ReportFunnelLine {
    /// Formats counts as a table.
    ///
    /// - Parameter rows: the rows of one event, rule or campaign.
    /// - Returns: the table with a note.
    static func table(_ rows: [ReportFunnelRow]) -> String {
        let lines = lines(rows)
        guard let first = lines.first else {
            return "no device has reported; only pushes of rules with report: true can be reported"
        }
        let hasVariants = lines.contains { $0.variant != nil }
        var header = first.day == nil ? ["app", "rule"] : ["day"]
        if first.day != nil, first.eventID != nil { header.append("event") }
        let hasValues = lines.contains { $0.value != nil }
        var table = TextTable(
            header + (hasVariants ? ["variant"] : []) + ["accepted"] + kinds + (hasValues ? ["value"] : [])
        )
        for line in lines {
            var cells = line.day.map { [$0] } ?? [line.app, line.rule]
            if line.day != nil, let event = line.eventID { cells.append("\(event)") }
            if hasVariants { cells.append(line.variant ?? "-") }
            cells.append(line.accepted.map { "\($0)" } ?? "-")
            let whole = line.accepted.map { " of \($0)" } ?? ""
            cells += line.devices.map { "\($0)\(whole)" }
            if hasValues { cells.append(line.value.map { "\($0)" } ?? "-") }
            table.append(cells)
        }
        return "\(table.text)\nNot all devices can report, so these counts are not shares of all recipients."
    }
}
