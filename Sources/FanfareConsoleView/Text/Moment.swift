/// A point in time on a page: in UTC as the server writes it; the script converts it into the reader's zone.
package struct Moment: ViewContext, Equatable {
    /// The format of the time.
    package enum Form: String, Sendable {
        /// As in `14:03`.
        case minute
        /// As in `14:03:22`.
        case second
        /// As in `26 Nov`.
        case day
        /// As in `Thu 26 Nov`.
        case weekday
        /// As in `26 Nov 14:03`.
        case short
        /// As in `26 Nov 14:03:22`.
        case exact
        /// As in `14:03`, where the context names the zone.
        case clock
        /// As in `26 Nov 2026, 14:03:22`.
        case full
    }

    /// The time, such as `2026-11-26T14:03:22Z`.
    let iso: String
    /// The name of its ``Form``, for the script.
    let form: String
    /// The text in UTC.
    package let words: String

    /// Creates a time with a fixed text, whose zone the context names.
    ///
    /// - Parameters:
    ///   - microseconds: microseconds since 1970.
    ///   - words: the text, in the page's zone.
    package init(_ microseconds: Int64, as words: String) {
        iso = CivilDate(microseconds).iso
        form = "fixed"
        self.words = words
    }

    /// Creates a time of recipients' clocks, which is not converted into the reader's zone.
    ///
    /// - Parameters:
    ///   - wall: the clock time: `2026-11-30 09:00`.
    ///   - microseconds: the planned time, in microseconds since 1970.
    package init(wall: String, planned microseconds: Int64) {
        let time = PageTime(wall, at: microseconds)?.microseconds ?? microseconds
        let date = CivilDate(time)
        self.init(time, as: "\(date.day) \(date.monthName) \(date.clock.prefix(5)) recipient's time")
    }

    /// Creates a time by the database's clock.
    ///
    /// - Parameters:
    ///   - microseconds: microseconds since 1970.
    ///   - form: the format.
    package init(_ microseconds: Int64, _ form: Form = .full) {
        let date = CivilDate(microseconds)
        iso = date.iso
        self.form = form.rawValue
        words =
            switch form {
            case .minute: "\(date.clock.prefix(5)) UTC"
            case .second: "\(date.clock) UTC"
            case .day: "\(date.day) \(date.monthName)"
            case .weekday: "\(date.weekdayName) \(date.day) \(date.monthName)"
            case .short: "\(date.day) \(date.monthName) \(date.clock.prefix(5)) UTC"
            case .exact: "\(date.day) \(date.monthName) \(date.clock) UTC"
            case .clock: String(date.clock.prefix(5))
            case .full: "\(date.day) \(date.monthName) \(date.year), \(date.clock) UTC"
            }
    }
}

/// A calendar time in UTC.
package struct CivilDate {
    let year: Int64
    let month: Int
    let day: Int
    /// 0 is Monday.
    package let weekday: Int
    /// As in `14:03:22`.
    let clock: String

    /// Splits a time into its parts; times before 1970 are allowed.
    ///
    /// - Parameter microseconds: microseconds since 1970.
    package init(_ microseconds: Int64) {
        let seconds = Self.floor(microseconds, 1_000_000)
        let days = Self.floor(seconds, 86_400)
        let rest = seconds - days * 86_400
        clock = [rest / 3_600, rest % 3_600 / 60, rest % 60].map(Self.two).joined(separator: ":")
        weekday = Int((days + 3) % 7 + 7) % 7
        // Years that begin in March have the leap day last.
        let shifted = days + 719_468
        let era = Self.floor(shifted, 146_097)
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * ofYear + 2) / 153
        day = Int(ofYear - (153 * march + 2) / 5 + 1)
        month = Int(march < 10 ? march + 3 : march - 9)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// As in `2026-11-26T14:03:22Z`.
    var iso: String { "\(year)-\(Self.two(Int64(month)))-\(Self.two(Int64(day)))T\(clock)Z" }
    /// As in `Nov`.
    var monthName: String {
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1]
    }
    /// As in `Thu`.
    var weekdayName: String { ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][weekday] }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func floor(_ number: Int64, _ by: Int64) -> Int64 {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: by)
        return rest < 0 ? quotient - 1 : quotient
    }
}
