/// How much time a page's charts show, and in which steps.
///
/// Steps are those that `fanfare.traffic` still has of that time: minutes for six hours, ten minutes for two days, then hours.
enum PageSpan: String, CaseIterable, Sendable {
    case quarter = "15m"
    case hour = "1h"
    case sixHours = "6h"
    case day = "1d"
    case week = "7d"

    /// As in `1 hour`.
    var label: String {
        switch self {
        case .quarter: "15 minutes"
        case .hour: "1 hour"
        case .sixHours: "6 hours"
        case .day: "1 day"
        case .week: "7 days"
        }
    }

    /// In seconds.
    var step: Int64 {
        switch self {
        case .quarter, .hour: 60
        case .sixHours: 600
        case .day: 1800
        case .week: 10_800
        }
    }

    /// How many steps there are.
    var steps: Int64 {
        switch self {
        case .quarter: 15
        case .hour: 60
        case .sixHours: 36
        case .day: 48
        case .week: 56
        }
    }

    /// As in `a minute`, behind what is counted in a step.
    var each: String {
        switch self {
        case .quarter, .hour: "per minute"
        case .sixHours: "per 10 minutes"
        case .day: "per half hour"
        case .week: "per 3 hours"
        }
    }

    /// How a step's time is written.
    var form: Moment.Form { self == .week || self == .day ? .short : .minute }

    /// When the steps begin.
    ///
    /// - Parameter now: by the database's clock, in microseconds since 1970.
    /// - Returns: the last of them is not over.
    func times(at now: Int64) -> [Int64] {
        let length = step * 1_000_000
        let last = now / length * length
        return (0..<steps).map { last - (steps - 1 - $0) * length }
    }
}

extension Visit {
    /// The time that the address asks for; an hour where it names none that there is.
    var span: PageSpan { filter("span").flatMap(PageSpan.init) ?? .hour }
}
