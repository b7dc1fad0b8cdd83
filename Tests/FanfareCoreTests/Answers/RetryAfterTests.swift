import FanfareCore
import Foundation
import Testing

struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
    private let now: Microseconds = 784_111_777_000_000

    @Test(arguments: [
        ("0", 1), ("1", 1), ("120", 120), (" 30\t", 30), ("3600", 3600), ("3601", 3600),
        ("99999999999999999999999999", 3600),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun, 06 Nov 1994 08:49:37 GMT", 1),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 1), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("Sun, 06 Nov 1994 08:59:60 GMT", 623),
    ])
    func secondsAndDatesAreClampedToBetween1SAnd1H(text: String, seconds: Int64) {
        #expect(RetryAfter.wait(text, now: now) == seconds * Micros.second)
    }

    @Test(arguments: [
        "", " ", "-5", "1.5", "soon", "1 2", "٣", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Mon, 29 Feb 1900 00:00:00 GMT",
        String(repeating: "é", count: 29),
    ])
    func junkIsNoWait(text: String) {
        #expect(RetryAfter.wait(text, now: now) == nil)
    }

    @Test func aMissingFieldIsNoWait() {
        #expect(RetryAfter.wait(nil, now: now) == nil)
    }

    @Test func extremeClocksDoNotTrap() {
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", now: .min) == Micros.hour)
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", now: .max) == Micros.second)
    }

    @Test(arguments: 0..<20)
    func datesAgreeWithFoundationsCalendar(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for _ in 0..<20 {
            let seconds = Int64.random(in: 0...4_102_444_800, using: &random)
            let text = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            let before = (seconds - 77) * Micros.second
            #expect(RetryAfter.wait(text, now: before) == 77 * Micros.second, "\(text)")
        }
    }
}
