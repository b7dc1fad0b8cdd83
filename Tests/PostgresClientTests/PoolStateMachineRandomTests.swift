import TestKit
import Testing

@testable import PostgresClient

/// Random histories of a pool, compared with a simple model: a few sessions and a queue.
struct PoolStateMachineRandomTests {
    @Test(arguments: Soak.seeds(300, soak: 30_000))
    func everyHistoryIsThatOfALineAndAFewSessions(_ seed: UInt64) {
        var history = PoolHistory(seed: seed)
        for _ in 0..<400 { history.step() }
        history.recover()
        #expect(history.line.isEmpty, "somebody waits although sessions can be had")
        for _ in 0..<100 { history.step() }
        history.close()
        #expect(history.answered == history.asked, "everybody is answered once")
        #expect(history.closedCount == 1)
        #expect(history.faults.isEmpty)
    }
}

/// The simple model of a pool, which checks each of the machine's actions.
private struct PoolHistory {
    typealias Machine = PoolStateMachine

    private var random: SeededGenerator
    private var machine: Machine
    private let limit: Int
    private var now = ContinuousClock.now
    private(set) var line: [Machine.RequestID] = []
    private var opening: [Machine.SessionID] = []
    private var idle: Set<Machine.SessionID> = []
    private var leased: [Machine.SessionID: Machine.RequestID] = [:]
    private var ending: [Machine.SessionID] = []
    private var interrupted: Set<Machine.SessionID> = []
    private(set) var asked = 0
    private(set) var answered = 0
    private(set) var closedCount = 0
    private(set) var faults: [String] = []
    private var isClosing = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        limit = .random(in: 1...4, using: &random)
        machine = Machine(
            PostgresPoolOptions(
                connections: limit,
                idleLifetime: Bool.random(using: &random) ? .seconds(3) : nil,
                maximumLifetime: Bool.random(using: &random) ? .seconds(20) : nil,
                closeTimeout: .seconds(2),
                cancelTimeout: .seconds(1)
            )
        )
    }

    private var sessionCount: Int { opening.count + idle.count + leased.count + ending.count }

    /// Performs one random event.
    mutating func step() {
        switch Int.random(in: 0..<16, using: &random) {
        case 0..<4: ask()
        case 4: cancelSomebody()
        case 5..<8: finishOpening(fails: Int.random(in: 0..<3, using: &random) == 0)
        case 8..<12: giveBack(isUsable: Int.random(in: 0..<5, using: &random) > 0)
        case 12: findStale()
        case 13: endOne()
        default: pass(.milliseconds(Int.random(in: 1...900, using: &random)))
        }
    }

    /// Lets all events succeed until no caller waits, or a limit is reached.
    mutating func recover() {
        for _ in 0..<200 where !line.isEmpty {
            while !opening.isEmpty { finishOpening(fails: false) }
            while !ending.isEmpty { endOne() }
            while !leased.isEmpty { giveBack(isUsable: true) }
            // Time advances only to the deadline that the machine requested.
            if let next = machine.nextDeadline { pass(max(next - now, .zero)) }
        }
    }

    /// Closes the pool, at first with random events, until everything has ended.
    mutating func close() {
        isClosing = true
        let actions = machine.close(at: now)
        let refused = actions.count { if case .refuse(_, .closed) = $0 { true } else { false } }
        expect(refused == line.count, "who waits is refused")
        check(actions)
        for _ in 0..<10 { step() }
        while !leased.isEmpty { giveBack(isUsable: true) }
        while !opening.isEmpty { finishOpening(fails: Bool.random(using: &random)) }
        while !ending.isEmpty { endOne() }
        expect(idle.isEmpty && machine.sessions.isEmpty && machine.nextDeadline == nil)
    }

    private mutating func ask() {
        let timeout = Int.random(in: 0...4000, using: &random)
        let (request, actions) = machine.request(until: timeout > 3500 ? nil : now + .milliseconds(timeout), at: now)
        asked += 1
        line.append(request)
        check(actions)
    }

    private mutating func cancelSomebody() {
        let candidates = line + leased.values.sorted()
        guard let request = candidates.randomElement(using: &random) else { return }
        check(machine.cancel(request, at: now))
        expect(!line.contains(request), "who cancels does not wait")
    }

    private mutating func finishOpening(fails: Bool) {
        guard let session = take(\.opening) else { return }
        if fails {
            check(machine.openingFailed(session, at: now))
        } else {
            idle.insert(session)
            check(machine.opened(session, at: now))
        }
    }

    private mutating func giveBack(isUsable: Bool) {
        guard let session = leased.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else {
            return
        }
        leased[session] = nil
        answered += 1
        // Either it is idle, or the machine's action ends it.
        idle.insert(session)
        let actions = machine.givenBack(session, isUsable: isUsable, at: now)
        let mustEnd = !isUsable || isClosing || interrupted.contains(session)
        expect(!mustEnd || actions.first == .end(session), "a session that is of no use is not kept")
        check(actions)
    }

    private mutating func findStale() {
        guard let session = leased.keys.min(by: { $0.number < $1.number }), let request = leased[session] else {
            return
        }
        leased[session] = nil
        idle.insert(session)
        line.insert(request, at: line.firstIndex { request < $0 } ?? line.endIndex)
        check(machine.foundStale(session, at: now))
    }

    private mutating func endOne() {
        guard let session = take(\.ending) else { return }
        check(machine.ended(session, at: now))
    }

    private mutating func pass(_ time: Duration) {
        now += time
        guard let due = machine.nextDeadline, due <= now else { return }
        check(machine.tick(at: now))
        expect(machine.nextDeadline.map { $0 > now } ?? true, "what is due is done")
    }

    /// Performs the machine's actions, and records violations.
    private mutating func check(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .open(let session):
                opening.append(session)
                expect(!isClosing, "a pool that closes opens nothing")
            case .stopOpening(let session): expect(opening.contains(session))
            case .lease(let session, let request):
                expect(idle.remove(session) != nil, "only what is idle is leased")
                expect(line.first == request, "first come, first served")
                line.removeAll { $0 == request }
                leased[session] = request
            case .end(let session):
                expect(idle.remove(session) != nil, "only what nobody has is ended")
                ending.append(session)
            case .interrupt(let session):
                expect(leased[session] != nil && interrupted.insert(session).inserted)
            case .abandon(let session): expect(leased[session] != nil && interrupted.contains(session))
            case .refuse(let request, _):
                expect(line.contains(request), "only who waits is refused")
                line.removeAll { $0 == request }
                answered += 1
            case .closed: closedCount += 1
            }
            expect(sessionCount <= limit, "never more than the limit")
        }
        expect(idle.isEmpty || line.isEmpty, "nobody waits beside an idle session")
        expect(machine.waiting.count == line.count && machine.sessions.count == sessionCount)
    }

    private mutating func take(_ path: WritableKeyPath<Self, [Machine.SessionID]>) -> Machine.SessionID? {
        guard !self[keyPath: path].isEmpty else { return nil }
        return self[keyPath: path].remove(at: .random(in: self[keyPath: path].indices, using: &random))
    }

    private mutating func expect(_ holds: Bool, _ what: String = "", line: Int = #line) {
        if !holds { faults.append("line \(line): \(what)") }
    }
}
