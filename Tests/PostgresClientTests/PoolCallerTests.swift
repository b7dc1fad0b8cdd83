import Testing

@testable import PostgresClient

/// The pool's answers to its callers, decision by decision.
struct PoolCallerTests: PoolDecisions {
    @Test func aSessionIsOpenedForTheFirstCallerAndNotBefore() {
        var machine = machine()
        #expect(machine.nextDeadline == nil)
        #expect(machine.ask(at: at(0)) == [.open(session(1))])
        #expect(machine.opened(session(1), at: at(1)) == [.lease(session(1), caller(1))])
    }

    @Test func noMoreAreOpenedThanTheLimit() {
        var machine = machine(2)
        #expect(machine.ask(at: at(0)) == [.open(session(1))])
        #expect(machine.ask(at: at(0)) == [.open(session(2))])
        #expect(machine.ask(at: at(0)) == [])
        #expect(machine.sessions.count == 2)
    }

    @Test func theFirstSessionGoesToTheFirstCallerWhoeverItWasOpenedFor() {
        var machine = machine(2)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.opened(session(2), at: at(0)) == [.lease(session(2), caller(1))])
        #expect(machine.opened(session(1), at: at(0)) == [.lease(session(1), caller(2))])
    }

    @Test func whatIsGivenBackGoesToWhoeverWaitedLongest() {
        var machine = leased()
        for _ in 0..<3 { #expect(machine.ask(at: at(0)) == []) }
        for next in 2...4 {
            #expect(
                machine.givenBack(session(1), isUsable: true, at: at(1)) == [.lease(session(1), caller(next))]
            )
        }
        #expect(machine.givenBack(session(1), isUsable: true, at: at(1)) == [])
    }

    @Test func theSessionUsedLastIsUsedNext() {
        var machine = machine(2)
        for number in 1...2 {
            _ = machine.request(until: nil, at: at(0))
            _ = machine.opened(session(number), at: at(0))
        }
        _ = machine.givenBack(session(2), isUsable: true, at: at(1))
        _ = machine.givenBack(session(1), isUsable: true, at: at(2))
        #expect(machine.ask(at: at(3)) == [.lease(session(1), caller(3))])
    }

    @Test func aDeadlineEndsTheWait() {
        var machine = leased()
        _ = machine.request(until: at(5), at: at(0))
        _ = machine.request(until: at(3), at: at(0))
        #expect(machine.nextDeadline.map { $0 <= at(3) } == true)
        #expect(machine.tick(at: at(2)) == [])
        #expect(machine.nextDeadline == at(3))
        #expect(machine.tick(at: at(3)) == [.refuse(caller(3), .timedOut)])
        #expect(machine.nextDeadline == at(5))
        #expect(machine.tick(at: at(6)) == [.refuse(caller(2), .timedOut)])
        #expect(machine.nextDeadline == nil)
        #expect(machine.givenBack(session(1), isUsable: true, at: at(7)) == [])
    }

    @Test func whoCancelsWhileWaitingIsOutOfTheLine() {
        var machine = leased()
        _ = machine.request(until: nil, at: at(0))
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.cancel(caller(2), at: at(1)) == [.refuse(caller(2), .cancelled)])
        #expect(machine.cancel(caller(2), at: at(1)) == [])
        #expect(machine.givenBack(session(1), isUsable: true, at: at(1)) == [.lease(session(1), caller(3))])
    }

    @Test func whoCancelsWhileWorkingLosesTheSession() {
        var machine = leased()
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.cancel(caller(1), at: at(1)) == [.interrupt(session(1))])
        #expect(machine.cancel(caller(1), at: at(1)) == [])
        // The cancel request may still be in transit, and must not reach another caller's query.
        #expect(machine.givenBack(session(1), isUsable: true, at: at(1)) == [.end(session(1))])
        #expect(machine.ended(session(1), at: at(1)) == [.open(session(2))])
        #expect(machine.cancel(caller(1), at: at(2)) == [])
    }

    @Test func whatDoesNotEndIsCutOffOnce() {
        var machine = leased()
        _ = machine.cancel(caller(1), at: at(1))
        #expect(machine.nextDeadline == at(3))
        #expect(machine.tick(at: at(2.9)) == [])
        #expect(machine.tick(at: at(3)) == [.abandon(session(1))])
        #expect(machine.tick(at: at(9)) == [])
        #expect(machine.givenBack(session(1), isUsable: false, at: at(9)) == [.end(session(1))])
    }

    @Test func aBrokenSessionIsReplacedWhenItIsGone() {
        var machine = leased()
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.givenBack(session(1), isUsable: false, at: at(1)) == [.end(session(1))])
        #expect(machine.sessions.count == 1)
        #expect(machine.ended(session(1), at: at(2)) == [.open(session(2))])
        #expect(machine.opened(session(2), at: at(3)) == [.lease(session(2), caller(2))])
    }

    @Test func whoFindsAStaleSessionKeepsItsPlace() {
        var machine = machine(2)
        for number in 1...2 {
            _ = machine.request(until: nil, at: at(0))
            _ = machine.opened(session(number), at: at(0))
        }
        _ = machine.request(until: at(9), at: at(0))
        #expect(machine.foundStale(session(2), at: at(1)) == [.end(session(2))])
        #expect(machine.foundStale(session(1), at: at(1)) == [.end(session(1))])
        #expect(machine.ended(session(1), at: at(2)) == [.open(session(3))])
        #expect(machine.ended(session(2), at: at(2)) == [.open(session(4))])
        #expect(machine.opened(session(3), at: at(3)) == [.lease(session(3), caller(1))])
        #expect(machine.opened(session(4), at: at(3)) == [.lease(session(4), caller(2))])
        #expect(machine.tick(at: at(9)) == [.refuse(caller(3), .timedOut)])
    }

    @Test func whoCancelsBeforeAStaleSessionIsFoundHasItsAnswer() {
        var machine = leased()
        _ = machine.cancel(caller(1), at: at(1))
        #expect(
            machine.foundStale(session(1), at: at(1)) == [.end(session(1)), .refuse(caller(1), .cancelled)]
        )
        #expect(machine.ended(session(1), at: at(1)) == [])
    }

    @Test func theLineForgetsWhoLeft() {
        var line = PoolWaitingLine()
        for number in 1...1000 { line.insert(caller(number), until: nil) }
        for number in 1...999 { #expect(line.remove(caller(number)) == true) }
        #expect(line.count == 1)
        let last = line.removeFirst()
        #expect(last?.request == caller(1000))
        #expect(line.isEmpty)
    }
}
