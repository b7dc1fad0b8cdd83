internal import FanfareCore
internal import Foundation

/// A time in an address: absolute, in UTC, or relative to now.
package struct PageTime: Sendable {
    /// In microseconds since 1970.
    package let microseconds: Int64

    /// Creates a time from a number.
    ///
    /// - Parameter microseconds: since 1970.
    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Reads an absolute time such as `2026-11-26T12:00`, with or without seconds and `Z`, or a relative one such as
    /// `4h`.
    ///
    /// - Parameters:
    ///   - text: the text in the address; the result is nil if it is neither, or no valid date.
    ///   - now: the database's time, in microseconds since 1970.
    package init?(_ text: String, at now: Int64) {
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
        // A date that rolls over, such as February 30, is invalid.
        guard CivilDate(time).iso == whole else { return nil }
        microseconds = time
    }

    /// The value of a form's field, in UTC: `2026-11-26T12:00:00`.
    package var field: String { String(CivilDate(microseconds).iso.dropLast()) }
}
