import FanfareCore

/// Runs actions in the order of a virtual clock; all random numbers come from one seed.
final class Simulation {
    /// A scheduled action.
    private struct Event {
        let at: Microseconds
        let number: UInt64
        let body: () -> Void

        static func < (left: Event, right: Event) -> Bool { (left.at, left.number) < (right.at, right.number) }
    }

    /// The steady time since the start.
    private(set) var now: Microseconds = 0
    var chance: Chance
    /// A binary heap, the next action first.
    private var events: [Event] = []
    private var count: UInt64 = 0
    var steps = 0
    /// A hash of the actions, which shows whether two runs of one seed are equal.
    private(set) var trace: UInt64 = 14_695_981_039_346_656_037

    init(seed: UInt64) {
        chance = Chance(seed: seed)
    }

    /// Schedules an action.
    func after(_ delay: Microseconds, _ body: @escaping () -> Void) {
        count += 1
        events.append(Event(at: now + max(delay, 0), number: count, body: body))
        var index = events.count - 1
        while index > 0, events[index] < events[(index - 1) / 2] {
            events.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Runs actions until a condition holds or a time is reached.
    func run(until end: Microseconds, or isOver: () -> Bool) {
        while let next = events.first, next.at <= end {
            steps += 1
            if steps % 64 == 0 && isOver() { return }
            removeFirst()
            now = next.at
            note(UInt64(next.at))
            next.body()
        }
    }

    /// Drops the scheduled actions, which breaks their reference cycles.
    func end() { events = [] }

    /// Adds a value to ``trace``.
    func note(_ value: UInt64) {
        trace = (trace ^ value) &* 1_099_511_628_211
    }

    private func removeFirst() {
        events.swapAt(0, events.count - 1)
        events.removeLast()
        var index = 0
        while true {
            let left = 2 * index + 1
            guard left < events.count else { return }
            let right = left + 1
            let child = right < events.count && events[right] < events[left] ? right : left
            guard events[child] < events[index] else { return }
            events.swapAt(child, index)
            index = child
        }
    }
}
