/// A schedule in the form of crontab(5): `0 9 * * mon`, `*/15 8-17 1,15 jan-mar *`, `@daily`.
///
/// It has no time zone and does not compute times: the database does, with its own zone data.
public struct CronExpression: Hashable, Sendable {
    /// The minutes, 0 to 59.
    ///
    /// All five lists are ascending, without duplicates and never empty.
    public let minutes: [Int]
    /// The hours, 0 to 23.
    public let hours: [Int]
    /// The days of the month, 1 to 31.
    public let days: [Int]
    /// The months, 1 to 12.
    public let months: [Int]
    /// The days of the week, 0 to 6 from Sunday.
    public let weekdays: [Int]
    /// Whether a day needs to be only in ``days`` or in ``weekdays``, because neither field begins with `*`.
    ///
    /// Otherwise a day must be in both.
    public let anyDay: Bool
    /// Whether the schedule goes by elapsed time, because the field of the minute or of the hour begins with `*`.
    ///
    /// Then it continues through an hour that clocks repeat, and has no times in one that they skip. Otherwise each
    /// time of day occurs once a day.
    public let isWild: Bool

    /// Parses an expression.
    ///
    /// - Parameter text: five fields separated by blanks, or one of the names that begin with `@`.
    /// - Throws: the first error, with its field. Days that no month has are refused; days that a year may lack are
    ///   not.
    public init(_ text: String) throws(CronProblem) {
        let fields = try Self.fields(text)
        minutes = try CronFieldParser(.minute).parse(fields[0])
        hours = try CronFieldParser(.hour).parse(fields[1])
        days = try CronFieldParser(.day).parse(fields[2])
        months = try CronFieldParser(.month).parse(fields[3])
        weekdays = try CronFieldParser(.weekday).parse(fields[4])
        anyDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
        isWild = fields[0].hasPrefix("*") || fields[1].hasPrefix("*")
        if !anyDay, let problem = Self.missingDay(days, of: months) { throw problem }
    }

    /// The stored form: the parameters of `fanfare.next_time` by name.
    public var json: JSONValue {
        let list = { (values: [Int]) in JSONValue.array(values.map { .number(JSONNumber($0)) }) }
        return [
            "minutes": list(minutes), "hours": list(hours), "days": list(days), "months": list(months),
            "weekdays": list(weekdays), "any_day": .bool(anyDay), "wild": .bool(isWild),
        ]
    }
}

extension CronExpression {
    /// The names of crontab(5).
    private static let named: KeyValuePairs = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    ]
    private static let order = "minute, hour, day of the month, month and weekday"

    private static func fields(_ text: String) throws(CronProblem) -> [Substring] {
        let fields = text.split(whereSeparator: \.isWhitespace)
        if let name = fields.first, name.hasPrefix("@") {
            guard fields.count == 1, let meaning = named.first(where: { $0.key == name.lowercased() }) else {
                throw unknownName(fields)
            }
            return meaning.value.split(separator: " ")
        }
        guard fields.count == CronField.allCases.count else {
            throw CronProblem(
                field: nil,
                reason: fields.count == 1 ? "1 field" : "\(fields.count) fields",
                hint: "write five: \(order)" + (fields.count > 5 ? "; there is none for seconds or years" : "")
            )
        }
        return fields
    }

    private static func unknownName(_ fields: [Substring]) -> CronProblem {
        let name = fields.joined(separator: " ").prefix(80)
        if name.lowercased() == "@reboot" {
            return CronProblem(
                field: nil,
                reason: "'@reboot' is not a time",
                hint: "daemons come and go; write when, such as 0 9 * * mon or @daily"
            )
        }
        let names = named.map(\.key)
        return CronProblem(
            field: nil,
            reason: "'\(name)' is not a schedule",
            hint: "use \(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1]), or five fields"
        )
    }

    /// Returns the error for days of the month that none of the months has; nil if one has them.
    private static func missingDay(_ days: [Int], of months: [Int]) -> CronProblem? {
        let longest = months.map(lastDay).max() ?? 31
        guard let first = days.first, first > longest else { return nil }
        let names = months.map {
            [2: "February", 4: "April", 6: "June", 9: "September", 11: "November"][$0, default: "\($0)"]
        }
        let who =
            names.count == 1 ? names[0] : names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
        return CronProblem(
            field: .day,
            reason: "no such day: \(who) \(names.count == 1 ? "has" : "have") \(longest) at most",
            hint: "use a day up to \(longest), or other months"
        )
    }

    private static func lastDay(of month: Int) -> Int {
        switch month {
        case 2: 29
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
