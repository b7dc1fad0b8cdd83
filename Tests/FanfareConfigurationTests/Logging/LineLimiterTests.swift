import FanfareCore
import TestKit
import Testing

@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite struct LineLimiterTests {
    private typealias Limiter = LineLimiter<String>
    private static let second = Micros.second

    private func passed(_ count: Int, _ kind: String = "a", at now: Microseconds, _ limiter: inout Limiter) -> Int {
        (0..<count).count { _ in limiter.admits(kind, at: now) }
    }

    private func left(at now: Microseconds, _ limiter: inout Limiter) -> [Limiter.LeftOut] {
        limiter.takeLeftOut(at: now)
    }

    @Test func aHundredThousandBecomeAFewAndTheirNumber() {
        var limiter = Limiter(limit: 10)
        #expect(passed(100_000, at: 7, &limiter) == 10)
        #expect(left(at: 6 + Self.second, &limiter).isEmpty, "the second is not over")
        #expect(left(at: 7 + Self.second, &limiter) == [.init(kind: "a", count: 99_990)])
        #expect(left(at: 9 * Self.second, &limiter).isEmpty, "told once")
    }

    @Test func theFirstOfAKindAlwaysPasses() {
        var limiter = Limiter(limit: 1)
        #expect(passed(50, "a", at: 0, &limiter) == 1)
        for n in 0..<5_000 { #expect(passed(1, "kind \(n)", at: 0, &limiter) == 1) }
        #expect(passed(50, "a", at: Self.second, &limiter) == 1, "and again in the next second")
        #expect(left(at: Self.second, &limiter) == [.init(kind: "a", count: 49)])
        #expect(left(at: .max, &limiter) == [.init(kind: "a", count: 49)])
    }

    @Test func fewLinesAreAllWritten() {
        var limiter = Limiter(limit: 10)
        for second in 0..<100 { #expect(passed(10, at: Int64(second) * Self.second, &limiter) == 10) }
        #expect(left(at: .max, &limiter).isEmpty)
    }

    /// Each line is either written or included in one summary line's count.
    @Test(arguments: 1...20) func nothingIsLostOrToldTwice(seed: UInt64) {
        var random = RandomLines(seed: seed)
        var limiter = Limiter(limit: 3)
        var now: Microseconds = 0
        var (written, told): ([String: Int], [String: Int]) = ([:], [:])
        var all: [String: Int] = [:]
        for _ in 0..<2_000 {
            now += random.step
            let kind = random.kind
            all[kind, default: 0] += 1
            if limiter.admits(kind, at: now) { written[kind, default: 0] += 1 }
            if random.looks {
                for left in limiter.takeLeftOut(at: now) { told[left.kind, default: 0] += left.count }
            }
        }
        for left in limiter.takeLeftOut(at: .max) { told[left.kind, default: 0] += left.count }
        #expect(written.merging(told, uniquingKeysWith: +) == all)
        let seconds = Int(now / Self.second) + 1
        #expect(written.allSatisfy { $0.value <= 3 * (seconds + 1) })
    }
}

private struct RandomLines {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    var step: Microseconds { mutating get { Microseconds.random(in: 0...20_000, using: &random) } }
    var kind: String { mutating get { "k\(Int.random(in: 0...3, using: &random))" } }
    var looks: Bool { mutating get { Int.random(in: 0...9, using: &random) == 0 } }
}
