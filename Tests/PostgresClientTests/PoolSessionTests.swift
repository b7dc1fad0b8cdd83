import Testing

@testable import PostgresClient

/// The life of a pool's sessions, decision by decision.
struct PoolSessionTests: PoolDecisions {
    @Test func allThatWaitAreToldWhenTheLastAttemptFails() {
        var machine = machine(2)
        for _ in 0..<3 { _ = machine.request(until: nil, at: at(0)) }
        #expect(machine.openingFailed(session(1), at: at(1)) == [])
        #expect(
            machine.openingFailed(session(2), at: at(1)) == (1...3).map { .refuse(caller($0), .unreachable) }
        )
        #expect(machine.sessions.isEmpty)
    }

    @Test func whileAnotherSessionWorksAFailureIsNobodysAnswer() {
        var machine = leased(2)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.request(until: at(9), at: at(0))
        #expect(machine.openingFailed(session(2), at: at(1)) == [])
        #expect(machine.givenBack(session(1), isUsable: true, at: at(1.05)) == [.lease(session(1), caller(2))])
        #expect(machine.nextDeadline == at(1.1))
        #expect(machine.tick(at: at(1.1)) == [.open(session(3))])
        #expect(machine.tick(at: at(9)) == [.refuse(caller(3), .timedOut)])
    }

    @Test func attemptsComeOneAtATimeAtGrowingIntervals() {
        var machine = machine(4)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.openingFailed(session(1), at: at(0))
        var now = at(0)
        for (index, pause) in [0.1, 0.2, 0.4, 0.8, 1, 1].enumerated() {
            for _ in 0..<2 { #expect(machine.ask(at: now) == []) }
            #expect(machine.nextDeadline == now + .seconds(pause))
            now += .seconds(pause)
            let attempt = session(index + 2)
            #expect(machine.tick(at: now) == [.open(attempt)])
            #expect(machine.ask(at: now) == [])
            #expect(machine.openingFailed(attempt, at: now).count == 3)
        }
    }

    @Test func afterASuccessAllOpenAtOnceAgain() {
        var machine = machine(3)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.openingFailed(session(1), at: at(0))
        for _ in 0..<3 { _ = machine.request(until: nil, at: at(0)) }
        #expect(machine.tick(at: at(1)) == [.open(session(2))])
        #expect(
            machine.opened(session(2), at: at(1))
                == [.lease(session(2), caller(2)), .open(session(3)), .open(session(4))]
        )
    }

    @Test func theAnswerAfterAFailureIsTheFailure() {
        var machine = machine(1)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.openingFailed(session(1), at: at(0))
        _ = machine.request(until: at(2), at: at(0.5))
        #expect(machine.tick(at: at(2)) == [.refuse(caller(2), .unreachable)])
    }

    @Test func theRetryIsNotForgottenWhileAllSessionsAreTaken() {
        // The only free slot is in use when the pause is first checked, and free before it ends.
        var machine = leased(2)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.openingFailed(session(2), at: at(0))
        _ = machine.tick(at: at(0.1))
        #expect(machine.openingFailed(session(3), at: at(0.1)) == [])
        _ = machine.givenBack(session(1), isUsable: false, at: at(0.1))
        #expect(machine.ended(session(1), at: at(0.1)) == [])
        #expect(machine.nextDeadline == at(0.3))
        #expect(machine.tick(at: at(0.3)) == [.open(session(4))])
    }

    @Test func idleSessionsEndWithTime() {
        var machine = leased()
        #expect(machine.givenBack(session(1), isUsable: true, at: at(10)) == [])
        #expect(machine.tick(at: at(69)) == [])
        #expect(machine.nextDeadline == at(70))
        #expect(machine.tick(at: at(70)) == [.end(session(1))])
        #expect(machine.ended(session(1), at: at(70)) == [])
        #expect(machine.ask(at: at(71)) == [.open(session(2))])
    }

    @Test func oldSessionsEndWhenNobodyHasThem() {
        var machine = leased()
        #expect(machine.tick(at: at(600)) == [])
        #expect(machine.givenBack(session(1), isUsable: true, at: at(601)) == [.end(session(1))])
        _ = machine.ended(session(1), at: at(601))
        _ = machine.request(until: nil, at: at(601))
        _ = machine.opened(session(2), at: at(601))
        // It has not been idle for long, but has reached its maximum lifetime.
        #expect(machine.givenBack(session(2), isUsable: true, at: at(1200)) == [])
        #expect(machine.tick(at: at(1200)) == [])
        #expect(machine.nextDeadline == at(1201))
        #expect(machine.tick(at: at(1201)) == [.end(session(2))])
    }

    @Test func withoutLimitsOfTimeNothingIsEverDue() {
        var machine = machine(1, idle: nil, maximum: nil)
        _ = machine.request(until: nil, at: at(0))
        _ = machine.opened(session(1), at: at(0))
        #expect(machine.givenBack(session(1), isUsable: true, at: at(1)) == [])
        #expect(machine.nextDeadline == nil)
    }

    @Test func anIdlePoolClosesAtOnce() {
        var machine = machine()
        #expect(machine.close(at: at(0)) == [.closed])
        #expect(machine.isClosed)
        #expect(machine.close(at: at(0)) == [])
        #expect(machine.ask(at: at(1)) == [.refuse(caller(1), .closed)])
    }

    @Test func closingRefusesThoseThatWaitAndAwaitsThoseThatWork() {
        var machine = leased(1)
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.close(at: at(1)) == [.refuse(caller(2), .closed)])
        #expect(machine.ask(at: at(1)) == [.refuse(caller(3), .closed)])
        #expect(machine.givenBack(session(1), isUsable: true, at: at(2)) == [.end(session(1))])
        #expect(machine.ended(session(1), at: at(2)) == [.closed])
        #expect(machine.nextDeadline == nil)
    }

    @Test func closingEndsIdleSessionsAndStopsAttempts() {
        var machine = machine(3)
        for _ in 0..<3 { _ = machine.request(until: nil, at: at(0)) }
        _ = machine.opened(session(1), at: at(0))
        _ = machine.cancel(caller(2), at: at(0))
        _ = machine.cancel(caller(3), at: at(0))
        _ = machine.givenBack(session(1), isUsable: true, at: at(0))
        let actions = Set(machine.close(at: at(1)))
        #expect(actions == [.end(session(1)), .stopOpening(session(2)), .stopOpening(session(3))])
        #expect(machine.opened(session(2), at: at(1)) == [.end(session(2))])
        #expect(machine.openingFailed(session(3), at: at(1)) == [])
        #expect(machine.ended(session(1), at: at(1)) == [])
        #expect(machine.ended(session(2), at: at(1)) == [.closed])
    }

    @Test func closingInterruptsThenCutsOffThenGivesUp() {
        var machine = leased()
        _ = machine.close(at: at(0))
        #expect(machine.nextDeadline == at(5))
        #expect(machine.tick(at: at(5)) == [.interrupt(session(1))])
        #expect(machine.nextDeadline == at(7))
        #expect(machine.tick(at: at(7)) == [.abandon(session(1))])
        #expect(machine.nextDeadline == at(9))
        #expect(machine.tick(at: at(9)) == [.closed])
        #expect(machine.nextDeadline == nil)
        // The session returns after all; its caller gets no second answer.
        #expect(machine.givenBack(session(1), isUsable: false, at: at(99)) == [.end(session(1))])
        #expect(machine.ended(session(1), at: at(99)) == [])
    }

    @Test func aClockThatJumpsWhileClosingSkipsNothing() {
        var machine = leased()
        _ = machine.close(at: at(0))
        #expect(machine.tick(at: at(1000)) == [.interrupt(session(1)), .abandon(session(1)), .closed])
    }

    @Test func aStaleSessionWhileClosingIsNotReplaced() {
        var machine = leased()
        _ = machine.close(at: at(0))
        #expect(machine.foundStale(session(1), at: at(1)) == [.end(session(1)), .refuse(caller(1), .closed)])
        #expect(machine.ended(session(1), at: at(1)) == [.closed])
    }
}
