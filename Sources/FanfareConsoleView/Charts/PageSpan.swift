/// The time that a page's charts show, and the length of their steps.
///
/// The steps are those that `fanfare.traffic` still has for that time: minutes for six hours, ten minutes for two days,
/// then hours.
package enum PageSpan: String, CaseIterable, Sendable {
    case quarter = "15m"
    case hour = "1h"
    case sixHours = "6h"
    case day = "1d"
    case week = "7d"

    /// The label, such as `1 hour`.
    package var label: String {
        switch self {
        case .quarter: "15 minutes"
        case .hour: "1 hour"
        case .sixHours: "6 hours"
        case .day: "1 day"
        case .week: "7 days"
        }
    }

    /// The length of a step in seconds.
    package var step: Int64 {
        switch self {
        case .quarter, .hour: 60
        case .sixHours: 600
        case .day: 1800
        case .week: 10_800
        }
    }

    /// The number of steps.
    package var steps: Int64 {
        switch self {
        case .quarter: 15
        case .hour: 60
        case .sixHours: 36
        case .day: 48
        case .week: 56
        }
    }

    /// The unit of a count per step, such as `a minute`.
    package var each: String {
        switch self {
        case .quarter, .hour: "per minute"
        case .sixHours: "per 10 minutes"
        case .day: "per half hour"
        case .week: "per 3 hours"
        }
    }

    /// The format of a step's time.
    package var form: Moment.Form { self == .week || self == .day ? .short : .minute }

    /// Returns the start of each step.
    ///
    /// - Parameter now: the database's time, in microseconds since 1970.
    /// - Returns: the times; the last step is the current one.
    package func times(at now: Int64) -> [Int64] {
        let length = step * 1_000_000
        let last = now / length * length
        return (0..<steps).map { last - (steps - 1 - $0) * length }
    }
}
