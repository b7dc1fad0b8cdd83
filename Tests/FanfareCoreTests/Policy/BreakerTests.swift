import FanfareCore
import Testing

private let second = Micros.second

struct BreakerTests {
    private func opened(at now: Microseconds = 0) -> Breaker {
        var breaker = Breaker()
        breaker.record(.failed, count: 20, at: now)
        return breaker
    }

    @Test func nineteenFailuresAreNotEnoughTwentyAre() {
        var breaker = Breaker()
        breaker.record(.failed, count: 19, at: 0)
        #expect(breaker.admit(at: 0) == .all)
        breaker.record(.failed, at: 0)
        #expect(breaker.admit(at: 0) == .nothing(until: 5 * second))
    }

    @Test func aRefusedSenderStopsAtOnceHoweverMuchWasAccepted() {
        var breaker = Breaker()
        breaker.record(.accepted, count: 200_000, at: 0)
        breaker.refused(at: 0)
        #expect(breaker.state == .open(until: 5 * second, wait: 5 * second))
    }

    /// An operator fixes the cause, and waiting pushes should be sent soon after.
    @Test func aRefusedSenderIsProbedEveryFiveSeconds() {
        var breaker = Breaker()
        breaker.refused(at: 0)
        var now: Microseconds = 0
        for _ in 0..<20 {
            #expect(breaker.admit(at: now) == .nothing(until: now + 5 * second))
            now += 5 * second
            #expect(breaker.admit(at: now) == .probe)
            breaker.refused(at: now)
            // The answer itself says nothing about the provider's health.
            breaker.probeEnded(.neutral, at: now)
        }
    }

    @Test func opensAtHalfOfTheAnswers() {
        var breaker = Breaker()
        breaker.record(.accepted, count: 30, at: 0)
        breaker.record(.neutral, count: 20, at: 0)
        breaker.record(.failed, count: 49, at: 0)
        #expect(breaker.state == .closed)
        breaker.record(.failed, at: 0)
        #expect(breaker.state == .open(until: 5 * second, wait: 5 * second))
    }

    @Test func failuresOlderThanTenSecondsAreForgotten() {
        var breaker = Breaker()
        breaker.record(.failed, count: 19, at: 0)
        breaker.record(.failed, count: 19, at: 10 * second)
        #expect(breaker.state == .closed)
    }

    @Test func oneDeviceThatHasToWaitStopsNobodyAndManyDo() {
        var breaker = Breaker()
        breaker.record(.accepted, count: 10, at: 0)
        for _ in 0..<1000 { breaker.failed(device: 1, at: second) }
        for device in 2...9 { breaker.failed(device: Int64(device), at: second) }
        #expect(breaker.state == .closed)
        breaker.failed(device: 10, at: second)
        #expect(breaker.admit(at: second) == .nothing(until: 6 * second))
    }

    @Test func aDeviceThatHasToWaitForLongCountsAgain() {
        var breaker = Breaker()
        for now in [0, 9 * second, 10 * second, 19 * second, 20 * second] { breaker.failed(device: 1, at: now) }
        #expect(breaker.admit(at: 20 * second) == .all)
        breaker.record(.failed, count: 18, at: 20 * second)
        #expect(breaker.state == .closed, "once in 10 s")
        breaker.record(.failed, at: 20 * second)
        #expect(breaker.state == .open(until: 25 * second, wait: 5 * second))
    }

    private func unreachable() -> Breaker {
        var breaker = Breaker()
        for _ in 0..<5 { breaker.connectFailed() }
        return breaker
    }

    @Test func afterFiveFailedConnectsInARowOneRequestAtATimeIsToConnect() {
        var breaker = Breaker()
        for _ in 0..<4 { breaker.connectFailed() }
        breaker.connected()
        for _ in 0..<4 { breaker.connectFailed() }
        #expect(breaker.admit(at: 0) == .all)
        breaker.connectFailed()
        // The interval stays the same for any number of probes, without doubling.
        for now in Int64(0)..<100 {
            #expect(breaker.admit(at: now * second) == .probe)
            #expect(breaker.admit(at: now * second) == .awaitsProbe)
            breaker.connectFailed()
            breaker.probeEnded(.neutral, at: now * second)
        }
    }

    @Test func aConnectionThatStandsClosesAtOnceWhatFailedConnectsOpened() {
        var breaker = unreachable()
        #expect(breaker.admit(at: 0) == .probe)
        breaker.connected()
        #expect(breaker.state == .closed)
        for health in [ProviderHealth.accepted, .failed] {
            breaker = unreachable()
            #expect(breaker.admit(at: 0) == .probe)
            breaker.probeEnded(health, at: 0)
            #expect(breaker.state == .closed, "what was answered, or lost, was sent")
        }
        breaker.record(.failed, count: 18, at: 0)
        #expect(breaker.state == .closed)
        breaker.record(.failed, at: 0)
        #expect(breaker.state == .open(until: 5 * second, wait: 5 * second), "the lost one counts")
    }

    @Test func anAttemptToConnectThatIsNeverReportedIsFollowedByAnother() {
        var breaker = unreachable()
        #expect(breaker.admit(at: 0) == .probe)
        #expect(breaker.admit(at: 20 * second - 1) == .awaitsProbe)
        #expect(breaker.admit(at: 20 * second) == .probe)
    }

    @Test func aProviderThatIsAwayAndAsksToWaitIsGivenTheTime() {
        var breaker = unreachable()
        breaker.hold(for: 60 * second, at: 0)
        breaker.connected()
        #expect(breaker.admit(at: second) == .nothing(until: 60 * second))
        breaker = unreachable()
        breaker.refused(at: 0)
        #expect(breaker.admit(at: second) == .nothing(until: 5 * second))
    }

    @Test func oneProbeAtATimeThreeAcceptedCloseIt() {
        var breaker = opened()
        for probe in 1...3 {
            let now = 5 * second + Int64(probe)
            #expect(breaker.admit(at: now) == .probe)
            #expect(breaker.admit(at: now) == .awaitsProbe)
            breaker.probeEnded(.accepted, at: now)
        }
        #expect(breaker.admit(at: 6 * second) == .all)
        breaker.record(.failed, count: 19, at: 6 * second)
        #expect(breaker.state == .closed, "closing forgets what opened it")
    }

    @Test func aPauseThatWasAskedForIsKeptWholeAndThenProbed() {
        var breaker = Breaker()
        breaker.hold(for: 300 * second, at: 0)
        breaker.hold(for: 60 * second, at: second)
        breaker.record(.accepted, count: 1000, at: 2 * second)
        #expect(breaker.admit(at: 299 * second) == .nothing(until: 300 * second))
        #expect(breaker.admit(at: 300 * second) == .probe)
        breaker.hold(for: 60 * second, at: 301 * second)
        breaker.probeEnded(.neutral, at: 301 * second)
        #expect(breaker.admit(at: 302 * second) == .nothing(until: 361 * second), "the probe was told to wait, too")
    }

    @Test func aPauseThatWasAskedForOutlastsTheNextProbeOfAFailure() {
        var breaker = opened()
        breaker.hold(for: 60 * second, at: second)
        #expect(breaker.admit(at: 5 * second) == .nothing(until: 61 * second))
    }

    @Test func aFailedProbeDoublesTheWaitUpToAMinute() {
        var breaker = opened()
        var now: Microseconds = 0
        for wait in [5, 10, 20, 40, 60, 60] {
            now += Int64(wait) * second
            #expect(breaker.admit(at: now - 1) == .nothing(until: now))
            #expect(breaker.admit(at: now) == .probe)
            breaker.probeEnded(.failed, at: now)
        }
    }

    @Test func aProbeThatWasRefusedOrNotUsedSaysNothing() {
        var breaker = opened()
        for end in [ProviderHealth.neutral, .accepted, .neutral, .accepted, .neutral] {
            #expect(breaker.admit(at: 5 * second) == .probe)
            breaker.probeEnded(end, at: 5 * second)
        }
        #expect(breaker.state == .probing(since: nil, accepted: 2, wait: 5 * second))
    }

    @Test func aProbeThatIsNeverReportedCountsAsFailed() {
        var breaker = opened()
        #expect(breaker.admit(at: 5 * second) == .probe)
        #expect(breaker.admit(at: 25 * second) == .nothing(until: 35 * second))
    }

    @Test func aProbeThatFindsNoConnectionIsFollowedByTheNext() {
        var breaker = opened()
        #expect(breaker.admit(at: 5 * second) == .probe)
        breaker.connectFailed()
        breaker.probeEnded(.neutral, at: 6 * second)
        #expect(breaker.admit(at: 6 * second) == .probe)
        breaker.probeEnded(.failed, at: 6 * second)
        breaker.probeEnded(.accepted, at: 6 * second)
        #expect(breaker.state == .open(until: 16 * second, wait: 10 * second), "a late result is ignored")
    }

    @Test func lateAnswersNeitherCloseNorReopenIt() {
        var breaker = opened()
        breaker.record(.accepted, count: 1000, at: second)
        #expect(breaker.admit(at: 5 * second) == .probe)
        breaker.record(.failed, count: 1000, at: 5 * second)
        breaker.record(.accepted, count: 1000, at: 5 * second)
        #expect(breaker.state == .probing(since: 5 * second, accepted: 0, wait: 5 * second))
    }

    @Test(arguments: 0..<10)
    func healthyProviderClosesItFromAnyState(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var breaker = Breaker()
        var now: Microseconds = 0
        for _ in 0..<500 {
            now += Int64.random(in: 0...3 * second, using: &random)
            let health = [ProviderHealth.accepted, .failed, .neutral].randomElement(using: &random) ?? .neutral
            switch Int.random(in: 0..<6, using: &random) {
            case 5: breaker.hold(for: Int64.random(in: 0...Micros.minute, using: &random), at: now)
            case 0: _ = breaker.admit(at: now)
            case 1: breaker.probeEnded(health, at: now)
            case 2: breaker.connectFailed()
            case 3: breaker.connected()
            default: breaker.record(health, count: Int.random(in: 0...30, using: &random), at: now)
            }
        }
        let end = now + 5 * Micros.minute
        while now < end, breaker.state != .closed {
            switch breaker.admit(at: now) {
            case .nothing(let until): now = until
            case .awaitsProbe: now += Breaker.probePatience
            case .probe, .all: breaker.probeEnded(.accepted, at: now)
            }
        }
        #expect(breaker.state == .closed)
    }
}
