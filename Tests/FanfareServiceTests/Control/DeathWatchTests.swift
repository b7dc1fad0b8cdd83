import FanfareCore
import Testing

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

struct DeathWatchTests {
    private let silent = OtherInstance(id: 7, isLeaseOver: false)
    private let over = OtherInstance(id: 7, isLeaseOver: true)

    @Test func whoseLockIsHeldForThreeSecondsIsDead() {
        var watch = DeathWatch()
        #expect(watch.shouldTryLock(of: silent) && !watch.isDead(silent, at: Micros.hour))
        watch.tookLock(of: 7, at: 0)
        #expect(!watch.shouldTryLock(of: silent))
        #expect(!watch.isDead(silent, at: DeathWatch.patience - 1) && watch.isDead(silent, at: DeathWatch.patience))
    }

    @Test func whoseLeaseIsOverIsDeadAtOnce() {
        #expect(DeathWatch().isDead(over, at: 0))
    }

    @Test func locksOfWhoIsGoneAreReleased() {
        var watch = DeathWatch()
        watch.tookLock(of: 7, at: 0)
        #expect(watch.settle([silent]).isEmpty, "it is still waited for")
        #expect(watch.settle([over]) == [7])
        watch.tookLock(of: 7, at: 0)
        #expect(watch.settle([]) == [7] && watch.suspects.isEmpty)
    }
}
