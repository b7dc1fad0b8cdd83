/// The HTTP field `Retry-After` (RFC 9110 section 10.2.3).
public enum RetryAfter {
    /// The minimum and maximum wait, for any value of the field.
    public static let bounds: ClosedRange<Microseconds> = Micros.second...Micros.hour

    /// Parses the field's value.
    ///
    /// Accepts seconds and IMF-fixdate; the two obsolete date forms, which no provider sends, count as invalid.
    ///
    /// - Parameters:
    ///   - text: the value; nil if the field is missing.
    ///   - now: the time of the answer (wall clock), from which the wait until a date is computed.
    /// - Returns: the wait within ``bounds``; nil if the field is missing or invalid.
    public static func wait(_ text: String?, now: Microseconds) -> Microseconds? {
        guard let value = text?.utf8.trimmed, !value.isEmpty else { return nil }
        if value.allSatisfy(\.isDigit) {
            // A longer number exceeds the upper bound in any case.
            let seconds = value.count > 9 ? Int64.max : Int64(value.decimal)
            return clamped(seconds.multipliedClamping(by: Micros.second))
        }
        guard let date = HTTPDate.parse(value) else { return nil }
        return clamped(date.subtractingClamping(now))
    }

    private static func clamped(_ wait: Microseconds) -> Microseconds {
        min(max(wait, bounds.lowerBound), bounds.upperBound)
    }
}

/// The preferred form of an HTTP date, IMF-fixdate (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Parses a date; the weekday's name is not compared with it.
    ///
    /// - Parameter text: exactly the date.
    /// - Returns: microseconds since the Unix epoch; nil if it is not such a date.
    static func parse(_ text: Substring.UTF8View) -> Microseconds? {
        let bytes = Array(text)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), text.suffix(4).elementsEqual(" GMT".utf8),
            [4, 7, 11, 16].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
            [19, 22].allSatisfy({ bytes[$0] == UInt8(ascii: ":") }),
            let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) })
        else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lastDay = month == 1 && isLeap ? 29 : daysInMonth[month]
        // A leap second is written as 60.
        guard year >= 1, (1...lastDay).contains(day), hour < 24, minute < 60, second <= 60 else { return nil }
        let days = daysSinceEpoch(year: year, month: month + 1, day: day)
        return Int64((days * 24 + hour) * 3600 + minute * 60 + second) * Micros.second
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        digits.allSatisfy(\.isDigit) ? digits.decimal : nil
    }

    /// Returns the days since the epoch in the Gregorian calendar; years are counted from March, so that the leap day
    /// is the last day.
    private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

extension Collection<UInt8> {
    /// The digits as a number; at most nine, which the caller has checked.
    fileprivate var decimal: Int { reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } }
}

extension String.UTF8View {
    /// The value without the spaces and tabs that RFC 9110 allows around it.
    fileprivate var trimmed: Substring.UTF8View {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
