import Foundation
import Testing

@testable import FanfareConsoleView

/// Tests of the format of numbers, times and texts.
@Suite struct ConsoleTextTests {
    @Test func markupIsEscapedWhateverFollowsIt() {
        #expect(HTMLText.escaped("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;")
        // One `Character` in Swift, two code points to a browser.
        for mark in ["\u{301}", "\u{200D}", "\u{FE0F}"] {
            #expect(
                HTMLText.escaped("\"\(mark)<\(mark)").unicodeScalars.contains { "\"<".unicodeScalars.contains($0) }
                    == false
            )
        }
        #expect(HTMLText.escaped("a\0b\u{1B}c\r\n\td\u{7F}") == "a\u{FFFD}b\u{FFFD}c\r\n\td\u{FFFD}")
        #expect(HTMLText.escaped("team-barça 👩‍👩‍👧") == "team-barça 👩‍👩‍👧")
    }

    @Test func numbersAreShort() {
        #expect(
            [0, 7, 999, 1_000, 1_204_118, -5_000].map(FigureText.count) == [
                "0", "7", "999", "1,000", "1,204,118", "−5,000",
            ]
        )
        #expect(FigureText.count(.min) == "−9,223,372,036,854,775,808")
        #expect(
            [0, 0.5, 12.34, 999, 999.7, 1_240, 12_400, 1_000_000, 2.41e9].map(FigureText.short)
                == ["0", "0.5", "12.3", "999", "1 k", "1.24 k", "12.4 k", "1 M", "2.41 G"]
        )
        #expect(
            [0, 0.0004, 0.012, 0.9996, 1.4, 59.96, 200, 14_700, 180_000, -3].map(FigureText.duration)
                == ["0 ms", "0.4 ms", "12 ms", "1 s", "1.4 s", "1 min", "3 min 20 s", "4 h 5 min", "2 d 2 h", "0 ms"]
        )
        // A share below the whole is never shown as 100 %.
        #expect(FigureText.share(999_999, of: 1_000_000) == "> 99.99 %")
        #expect(FigureText.share(1, of: 1_000_000) == "< 0.01 %")
        #expect(
            FigureText.share(2, of: 3) == "66.7 %" && FigureText.share(3, of: 3) == "100 %"
                && FigureText.share(1, of: 0) == "–"
        )
        #expect(FigureText.counted(1, "device") == "1 device" && FigureText.counted(1_204, "device") == "1,204 devices")
        #expect([Double.nan, .infinity].map(FigureText.short) == ["–", "–"])
    }

    @Test func timesAreThoseOfTheCalendar() {
        for seconds: Int64 in [0, 951_782_400, 951_868_799, 1_709_164_800, 1_795_701_802, 4_107_542_399, -1] {
            let date = Date(timeIntervalSince1970: Double(seconds))
            let moment = Moment(seconds * 1_000_000)
            #expect(moment.iso == date.ISO8601Format())
        }
        // SQL has such times: '-infinity' and 'infinity'.
        #expect(Moment(.min).iso == "-290308-12-21T19:59:05Z" && Moment(.max).iso == "294247-01-10T04:00:54Z")
        let moment = { Moment(1_795_701_802_999_999, $0).words }
        #expect(
            moment(.weekday) == "Thu 26 Nov" && moment(.minute) == "14:03 UTC" && moment(.short) == "26 Nov 14:03 UTC"
        )
        #expect(moment(.full) == "26 Nov 2026, 14:03:22 UTC")
    }
}
