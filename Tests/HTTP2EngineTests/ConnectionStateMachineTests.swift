import Testing

@testable import HTTP2Engine

/// The engine's decisions about a connection, with the time passed in.
struct ConnectionStateMachineTests {
    private static let second: Int64 = 1_000_000_000

    /// Returns a connection whose handshake was completed at second 1.
    private func established(streams: Int = 100) -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(streams: streams)
        machine.establish(now: Self.second)
        return machine
    }

    /// Returns a connection whose peer allows some streams and has answered once.
    private func warm(streams: Int = 100, allowing limit: UInt32 = 1000) -> ConnectionStateMachine {
        var machine = established(streams: streams)
        machine.limit(limit)
        machine.attach()
        _ = machine.answer(now: 2 * Self.second)
        return machine
    }

    @Test func theWindowIsOneUntilTheFirstAnswer() {
        var machine = ConnectionStateMachine(streams: 100)
        #expect(machine.window == 1)
        machine.attach()
        machine.establish(now: 1)
        machine.limit(1000)
        #expect(machine.window == 1 && machine.freeSlots == 0)
        let first = machine.answer(now: 2 * Self.second)
        #expect(first && machine.window == 100 && machine.freeSlots == 100)
        machine.attach()
        let second = machine.answer(now: 2 * Self.second)
        #expect(!second)
    }

    @Test func anAnswerBeforeSettingsKeepsTheWindowAtOne() {
        var machine = established()
        machine.attach()
        _ = machine.answer(now: 2 * Self.second)
        #expect(machine.window == 1)
    }

    @Test func theWindowFollowsThePeersLimit() {
        var machine = warm(streams: 500)
        var windows: [Int] = []
        for limit: UInt32 in [1000, 1, 0, 1000, .max] {
            machine.limit(limit)
            windows.append(machine.window)
        }
        #expect(windows == [500, 1, 0, 500, 500])
    }

    @Test func moreThanTheWindowLeavesNoSlots() {
        var machine = warm()
        for _ in 0..<50 { machine.attach() }
        machine.limit(10)
        #expect(machine.freeSlots == 0)
    }

    @Test func aLostFirstRequestEndsTheConnection() {
        var machine = established()
        machine.attach()
        machine.fail()
        #expect(machine.phase == .retired && machine.isFinished)
    }

    @Test func aLostRequestLeavesAWarmConnection() {
        var machine = warm()
        machine.attach()
        machine.fail()
        #expect(machine.phase == .established)
    }

    @Test func aRetiredConnectionWaitsForItsLastAnswer() {
        var machine = warm()
        machine.attach()
        machine.retire()
        #expect(machine.freeSlots == 0 && !machine.isFinished)
        _ = machine.answer(now: 2 * Self.second)
        #expect(machine.isFinished)
    }

    @Test func silenceBringsAPingAndThenTheEnd() {
        var machine = established()
        #expect(machine.demand(now: 10 * Self.second) == .nothing)
        #expect(machine.nextDemand == 11 * Self.second)
        #expect(machine.demand(now: 11 * Self.second) == .ping)
        machine.ping(now: 11 * Self.second)
        #expect(machine.demand(now: 15 * Self.second) == .nothing)
        #expect(machine.demand(now: 16 * Self.second) == .dead)
    }

    @Test func anythingHeardIsASignOfLife() {
        var machine = established()
        machine.ping(now: 11 * Self.second)
        machine.hear(now: 12 * Self.second)
        #expect(machine.demand(now: 16 * Self.second) == .nothing)
        #expect(machine.nextDemand == 22 * Self.second)
    }

    @Test func onlyAnAnswerIsWork() {
        var machine = established()
        #expect(machine.lastAnswerAt == Self.second)
        machine.attach()
        machine.hear(now: 3 * Self.second)
        #expect(machine.lastAnswerAt == Self.second)
        _ = machine.answer(now: 4 * Self.second)
        #expect(machine.lastAnswerAt == 4 * Self.second)
    }

    @Test func nobodyIsAskedBeforeTheHandshakeOrAfterTheLastAnswer() {
        var machine = ConnectionStateMachine(streams: 1)
        #expect(machine.nextDemand == .max)
        machine.establish(now: 1)
        machine.retire()
        #expect(machine.nextDemand == .max)
    }
}
