internal import FanfareCore
internal import Foundation

/// A time in an address: of a calendar, in UTC, or so long ago.
struct PageTime: Sendable {
    /// In microseconds since 1970.
    let microseconds: Int64

    /// A time that is known.
    ///
    /// - Parameter microseconds: since 1970.
    init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Reads `2026-11-26T12:00` as forms have it, with seconds and `Z` or without, or `4h` for so long ago.
    ///
    /// - Parameters:
    ///   - text: of an address; nil where it is neither, or no day that there is.
    ///   - now: by the database's clock, in microseconds since 1970.
    init?(_ text: String, at now: Int64) {
        if let span = TimeSpan(text) {
            let (back, overflow) = span.seconds.multipliedReportingOverflow(by: 1_000_000)
            guard !overflow, back <= now else { return nil }
            microseconds = now - back
            return
        }
        guard let match = text.wholeMatch(of: /(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?Z?/) else {
            return nil
        }
        let whole = "\(match.1)T\(match.2)\(match.3 ?? ":00")Z"
        guard let date = try? Date(whole, strategy: .iso8601) else { return nil }
        let time = Int64(date.timeIntervalSince1970) * 1_000_000
        // What rolls over, such as the 30th of February, is no time.
        guard CivilDate(time).iso == whole else { return nil }
        microseconds = time
    }

    /// As forms have it, in UTC: `2026-11-26T12:00:00`.
    var field: String { String(CivilDate(microseconds).iso.dropLast()) }
}
