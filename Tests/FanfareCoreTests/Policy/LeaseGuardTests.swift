import FanfareCore
import Testing

private let second = Micros.second

extension LeaseGuard {
    fileprivate func maySubmit(at now: Microseconds) -> Bool {
        submitsUntil.map { now < $0 } ?? false
    }
}

struct LeaseGuardTests {
    private func held(from start: Microseconds) -> LeaseGuard {
        var lease = LeaseGuard()
        lease.renewSucceeded(startedAt: start)
        return lease
    }

    @Test func withoutALeaseNothingIsSubmitted() {
        let lease = LeaseGuard()
        #expect(!lease.maySubmit(at: 0) && lease.submitsUntil == nil)
    }

    @Test func countsFromBeforeTheRenewalLessASecond() {
        let lease = held(from: 100 * second)
        #expect(lease.maySubmit(at: 114 * second - 1))
        #expect(!lease.maySubmit(at: 114 * second))
        #expect(!lease.maySubmit(at: 3600 * second), "a machine that slept")
    }

    @Test func anOlderRenewalsAnswerDoesNotShortenTheLease() {
        var lease = held(from: 10 * second)
        lease.renewSucceeded(startedAt: 5 * second)
        #expect(lease.submitsUntil == 24 * second)
    }

    @Test func nothingStartsASecondAfterTheLastLookAtCancellations() {
        var lease = held(from: 100 * second)
        #expect(lease.startsUntil == nil, "somebody may have cancelled anything")
        lease.cancelsRead(startedAt: 100 * second)
        #expect(lease.startsUntil == 101 * second)
        lease.cancelsRead(startedAt: 105 * second)
        lease.cancelsRead(startedAt: 104 * second)
        #expect(lease.startsUntil == 106 * second, "answers may come in any order")
        lease.cancelsRead(startedAt: 113 * second + second / 2)
        #expect(lease.startsUntil == 114 * second, "the lease ends before")
        #expect(lease.submitsUntil == 114 * second, "what is ours does not depend on it")
    }

    @Test func lostControlConnectionEndsItForGood() {
        var lease = held(from: 0)
        lease.controlLost(at: 3 * second)
        #expect(lease.maySubmit(at: 4 * second - 1) && !lease.maySubmit(at: 4 * second))
        lease.renewSucceeded(startedAt: 3 * second)
        lease.controlLost(at: 9 * second)
        #expect(!lease.maySubmit(at: 4 * second))
    }

    @Test func theGraceDoesNotOutliveTheLease() {
        var lease = held(from: 0)
        lease.controlLost(at: 14 * second - 1)
        #expect(!lease.maySubmit(at: 14 * second))
        var none = LeaseGuard()
        none.controlLost(at: 5)
        #expect(!none.maySubmit(at: 5))
    }

    @Test(arguments: 0..<20)
    func itNeverSubmitsPastTheLeaseTheDatabaseKnows(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var lease = LeaseGuard()
        var now: Microseconds = 0
        var databaseEnd: Microseconds = .min
        for _ in 0..<200 {
            now += Int64.random(in: 0...8 * second, using: &random)
            let start = now
            now += Int64.random(in: 0...20 * second, using: &random)
            if Bool.random(using: &random) {
                // The database computes the end when it runs the statement, between sending and answer.
                databaseEnd = max(databaseEnd, Int64.random(in: start...now, using: &random) + LeaseGuard.length)
                lease.renewSucceeded(startedAt: start)
            }
            let probe = now + Int64.random(in: 0...20 * second, using: &random)
            #expect(!lease.maySubmit(at: probe) || probe < databaseEnd - LeaseGuard.margin)
        }
    }
}
