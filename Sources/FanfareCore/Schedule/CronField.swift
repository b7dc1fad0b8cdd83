/// One of the five fields of a cron expression, in their order.
public enum CronField: String, Sendable, CaseIterable {
    /// The minute of the hour, 0 to 59.
    case minute
    /// The hour of the day, 0 to 23.
    case hour
    /// The day of the month, 1 to 31.
    case day
    /// The month, 1 to 12.
    case month
    /// The day of the week, 0 to 6 from Sunday; 7 is Sunday too.
    case weekday

    /// The valid numbers.
    var range: ClosedRange<Int> {
        switch self {
        case .minute: 0...59
        case .hour: 0...23
        case .day: 1...31
        case .month: 1...12
        case .weekday: 0...7
        }
    }

    /// The number of distinct values, which is also the longest step.
    var count: Int { self == .weekday ? 7 : range.count }

    /// The names of the values, starting with the first; empty if there are none.
    var names: [String] {
        switch self {
        case .minute, .hour, .day: []
        case .month: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        }
    }

    /// The valid values, for hints.
    var choice: String {
        switch self {
        case .minute, .hour, .day: "\(range.lowerBound) to \(range.upperBound)"
        case .month: "1 to 12, or jan to dec"
        case .weekday: "0 to 7 (0 and 7 are Sunday), or sun to sat"
        }
    }

    /// Parses a value.
    ///
    /// - Parameter text: digits, or a name in either case.
    /// - Returns: a number within ``range``; nil for anything else.
    func value(_ text: Substring) -> Int? {
        if let index = names.firstIndex(of: text.lowercased()) { return range.lowerBound + index }
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let number = Int(text), range.contains(number) else {
            return nil
        }
        return number
    }
}
