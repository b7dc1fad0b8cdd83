import PushTransport
import TestKit
import Testing

@testable import HTTP2Client

struct ConnectionStateMachineTests {
    /// Returns a connection whose first request was sent.
    private func established(streams: Int = 100) -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(streams: streams)
        machine.attach()
        _ = machine.establish(now: 1)
        machine.start()
        return machine
    }

    /// Returns a connection that has answered once and is idle.
    private func warm(streams: Int = 100) -> ConnectionStateMachine {
        var machine = established(streams: streams)
        _ = machine.answer(now: 2)
        return machine
    }

    @Test func aColdConnectionTakesOneRequest() {
        var machine = ConnectionStateMachine(streams: 100)
        #expect(machine.freeSlots == 1)
        machine.attach()
        #expect(machine.freeSlots == 0)
        let permits = (0..<2).map { _ in machine.permitSocket() }
        #expect(permits == [true, true], "a second address may be tried")
    }

    @Test func theFirstAnswerWarmsAndWidens() {
        var machine = established()
        let first = machine.answer(now: 2)
        #expect(first && machine.window == 2 && machine.warmed)
        machine.attach()
        machine.start()
        let second = machine.answer(now: 3)
        #expect(!second)
        #expect(machine.window == 3)
    }

    @Test func theWindowStopsAtTheStreams() {
        var machine = warm(streams: 3)
        for _ in 0..<10 {
            machine.attach()
            machine.start()
            _ = machine.answer(now: 3)
        }
        #expect(machine.window == 3)
    }

    /// Requests that wait inside libcurl indicate the peer's limit.
    @Test func theWindowFollowsThePeersLimit() {
        var machine = warm()
        for _ in 0..<8 {
            machine.attach()
            machine.start()
            _ = machine.answer(now: 3)
        }
        #expect(machine.window == 10)
        for _ in 0..<10 { machine.attach() }
        for _ in 0..<4 { machine.start() }
        _ = machine.answer(now: 4)
        #expect(machine.window == 9, "six wait: narrower")
        _ = machine.answer(now: 5)
        #expect(machine.window == 8)
    }

    @Test func anEstablishedConnectionMayNotConnectAgain() {
        var machine = warm()
        let permitted = machine.permitSocket()
        #expect(!permitted)
        #expect(machine.phase == .retired)
        #expect(machine.freeSlots == 0 && machine.isFinished)
    }

    @Test func aLostFirstRequestEndsTheConnection() {
        var machine = established()
        machine.fail(wasStarted: true)
        #expect(machine.phase == .retired && machine.isFinished)
    }

    @Test func aFailedConnectEndsTheConnection() {
        var machine = ConnectionStateMachine(streams: 100)
        machine.attach()
        machine.fail(wasStarted: false)
        #expect(machine.phase == .retired && machine.isFinished)
    }

    @Test func aResetStreamLeavesAWarmConnection() {
        var machine = warm()
        machine.attach()
        machine.start()
        machine.fail(wasStarted: true)
        #expect(machine.phase == .established && machine.freeSlots == 2)
    }

    @Test func aRetiredConnectionWaitsForItsLastAnswer() {
        var machine = warm()
        machine.attach()
        machine.start()
        machine.retire()
        #expect(machine.freeSlots == 0 && !machine.isFinished)
        _ = machine.answer(now: 9)
        #expect(machine.isFinished)
    }

    @Test func theBucketGivesABurstThenOnePerInterval() {
        var bucket = TokenBucket(burst: 2, interval: 100, now: 0)
        let taken = [0, 0, 50, 102, 150].map { bucket.take(now: $0) }
        #expect(taken == [true, true, false, true, false])
        #expect((200...202).contains(bucket.nextToken()))
        let available = bucket.available(now: 100_000)
        #expect(available == 2, "never more than the burst")
    }

    @Test(arguments: 0..<10)
    func noStretchOfTimeSeesMoreThanTheBurstAndTheRate(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bucket = TokenBucket(burst: 4, interval: 1_000_000, now: 0)
        var now: MonotonicTime = 0
        var taken: [MonotonicTime] = []
        for _ in 0..<300 {
            now += Int64.random(in: 0...500_000, using: &random)
            if bucket.take(now: now) { taken.append(now) }
        }
        for (index, start) in taken.enumerated() {
            for (count, end) in taken[index...].enumerated() {
                #expect(count + 1 <= 4 + Int(end - start) / 1_000_000)
            }
        }
    }
}
