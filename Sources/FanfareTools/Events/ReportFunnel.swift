public import FanfareCore
package import FanfareRecords
package import Foundation

/// The counts of one rule, or of one of its variants, as people read them.
package struct ReportFunnelLine: Equatable, Sendable {
    package let app: String
    package let rule: String
    /// The variant; `all` for the sum of a rule with variants, nil for a rule without.
    package let variant: String?
    package let day: String?
    package let eventID: Int64?
    /// The pushes that providers accepted; nil if unknown.
    package var accepted: Int64?
    /// The numbers of devices that reported each kind, and of people who converted, in the order of ``kinds``.
    package var devices: [Int64]
    /// The sum of the values of conversions, by variant; empty if none was credited.
    package var values: [String]

    /// The kinds of reports and conversions, in the order in which they are shown.
    package static let kinds = ["received", "shown", "opened", "acted", "converted", "dismissed"]

    fileprivate init(_ row: ReportFunnelRow, variant: String?) {
        (app, rule, day, eventID) = (row.app, row.rule, row.day, row.eventID)
        self.variant = variant
        accepted = row.accepted
        devices = row.devices
        values = row.value.map { [$0] } ?? []
    }

    fileprivate mutating func add(_ row: ReportFunnelRow) {
        if let more = row.accepted { accepted = (accepted ?? 0) + more }
        devices = zip(devices, row.devices).map { $0 + $1 }
        values += row.value.map { [$0] } ?? []
    }

    /// Makes lines of rows: a rule with variants has its sum before them.
    ///
    /// - Parameter rows: the rows of each rule side by side.
    /// - Returns: the lines.
    package static func lines(_ rows: [ReportFunnelRow]) -> [ReportFunnelLine] {
        var lines: [ReportFunnelLine] = []
        var rest = rows[...]
        while let first = rest.first {
            let group = rest.prefix { $0.isOfSamePushes(as: first) }
            rest = rest.dropFirst(group.count)
            let isDivided = group.contains { $0.variant != nil }
            var sum = ReportFunnelLine(first, variant: isDivided ? "all" : nil)
            for row in group.dropFirst() { sum.add(row) }
            lines.append(sum)
            if isDivided {
                lines += group.filter { $0.variant != nil }.map { ReportFunnelLine($0, variant: $0.variant) }
            }
        }
        return lines
    }
}

extension ReportFunnelRow {
    fileprivate var devices: [Int64] { [received, shown, opened, acted, converted, dismissed] }

    fileprivate func isOfSamePushes(as other: ReportFunnelRow) -> Bool {
        (app, rule, day, eventID) == (other.app, other.rule, other.day, other.eventID)
    }

    /// The row as JSON; ids are text.
    public var json: JSONValue {
        var object = JSONObject()
        if let day { object["day"] = .string(day) }
        if let eventID { object["event_id"] = .string("\(eventID)") }
        object["app"] = .string(app)
        object["rule"] = .string(rule)
        object["variant"] = JSONValue(orNull: variant)
        object["accepted"] = accepted.map { JSONValue($0) } ?? .null
        for (kind, count) in zip(ReportFunnelLine.kinds, devices) { object[kind] = JSONValue(count) }
        object["value"] = value.flatMap { try? JSONValue(parsing: $0) } ?? .null
        return .object(object)
    }
}

extension ReportFunnelLine {
    /// The sum of the values of conversions; nil if none was credited.
    package var value: Decimal? {
        let numbers = values.compactMap { Decimal(string: $0) }
        return numbers.isEmpty ? nil : numbers.reduce(0, +)
    }
}
