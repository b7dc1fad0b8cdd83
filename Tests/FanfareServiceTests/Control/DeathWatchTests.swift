import FanfareCore
import PostgresClient
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

struct DeathWatchTests {
    private let silent = OtherInstance(id: 7, leaseUntil: Timestamp(microseconds: 1))
    private let renewed = OtherInstance(id: 7, leaseUntil: Timestamp(microseconds: 2))
    private let unlisted = OtherInstance(id: 7, leaseUntil: nil)

    @Test func whoseLockIsHeldForThreeSecondsIsDead() {
        var watch = DeathWatch()
        #expect(watch.shouldTryLock(of: silent) && !watch.isDead(silent, at: Micros.hour))
        watch.tookLock(of: 7, at: 0)
        #expect(!watch.shouldTryLock(of: silent))
        #expect(!watch.isDead(silent, at: DeathWatch.patience - 1) && watch.isDead(silent, at: DeathWatch.patience))
    }

    /// Independent of the database's clock, which may be changed while a daemon runs.
    @Test func whoIsNotSeenToRenewItsLeaseIsDead() {
        var watch = DeathWatch()
        watch.see([silent], at: 0)
        #expect(!watch.isDead(silent, at: LeaseGuard.length - 1) && watch.isDead(silent, at: LeaseGuard.length))
        watch.see([renewed], at: LeaseGuard.length)
        #expect(!watch.isDead(renewed, at: 2 * LeaseGuard.length - 1))
        watch.see([renewed], at: 2 * LeaseGuard.length)
        #expect(watch.isDead(renewed, at: 2 * LeaseGuard.length))
    }

    @Test func whoIsInNoListIsDeadAtOnce() {
        #expect(DeathWatch().isDead(unlisted, at: 0))
    }

    @Test func locksOfWhoIsGoneAreReleased() {
        var watch = DeathWatch()
        watch.tookLock(of: 7, at: 0)
        watch.see([silent], at: 0)
        #expect(watch.settle([silent], at: 0).isEmpty, "it is still waited for")
        #expect(watch.settle([silent], at: LeaseGuard.length) == [7])
        watch.tookLock(of: 7, at: 0)
        #expect(watch.settle([], at: 0) == [7] && watch.suspects.isEmpty)
    }
}
