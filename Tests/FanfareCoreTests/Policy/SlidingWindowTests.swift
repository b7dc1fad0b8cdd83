import Testing

@testable import FanfareCore

private struct Tally: WindowTally {
    var count = 0

    static func += (tally: inout Tally, other: Tally) { tally.count += other.count }
}

struct SlidingWindowTests {
    @Test(arguments: 0..<20)
    func sumsTheLastBucketsHoweverTimePasses(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var window = SlidingWindow<Tally>(width: 100, buckets: 10)
        var added: [(bucket: Int64, count: Int)] = []
        var now: Microseconds = 0
        for _ in 0..<300 {
            now += Int64.random(in: 0...(Bool.random(using: &random) ? 12 : 150), using: &random)
            let count = Int.random(in: 0...9, using: &random)
            window.add(Tally(count: count), at: now)
            added.append((now / 10, count))
            let expected = added.lazy.filter { $0.bucket > now / 10 - 10 }.map(\.count).reduce(0, +)
            #expect(window.total(at: now).count == expected)
        }
    }

    @Test func aClockThatWentBackOrFarAheadDoesNoHarm() {
        var window = SlidingWindow<Tally>(width: 100, buckets: 10)
        window.add(Tally(count: 1), at: 1000)
        window.add(Tally(count: 1), at: -5)
        #expect(window.total(at: 0).count == 2)
        window.add(Tally(count: 1), at: .max)
        #expect(window.total(at: .max).count == 1)
    }
}
