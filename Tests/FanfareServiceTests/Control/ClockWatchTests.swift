import FanfareCore
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

struct ClockWatchTests {
    @Test func aDifferenceIsNewsOnceAndSoIsItsEnd() {
        var watch = ClockWatch()
        let off = 10 * Micros.minute
        let news = [0, -ClockWatch.tolerance, off, off, -off, ClockWatch.tolerance, .min].map { ahead in
            watch.changes(ahead: ahead)
        }
        #expect(news == [false, false, true, false, false, true, true])
        #expect(watch.isOff)
    }
}
