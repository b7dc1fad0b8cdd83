import FanfareCore
import Testing

struct RateTests {
    /// Sizes at the edges of all formulas.
    private static let sizes = [0, 1, 2, 499, 500, 10_000_000_000, .max]

    /// Counts with no, one, half, and only successes.
    static let edges = sizes.flatMap { size in
        Set([0, 1, size / 2, size].filter { $0 <= size }).sorted().compactMap { RateCount($0, of: size) }
    }

    @Test(arguments: [
        (0, 20, 0, 0.16113), (5, 100, 0.021544, 0.111750), (500, 10_000, 0.045898, 0.054447), (20, 20, 0.83887, 1),
    ])
    func wilsonsInterval(successes: Int, recipients: Int, low: Double, high: Double) throws {
        let interval = try #require(RateCount(successes, of: recipients)).interval()
        #expect(abs(interval.low - low) < 1e-5)
        #expect(abs(interval.high - high) < 1e-5)
    }

    @Test(arguments: [(-1, 5), (6, 5), (0, -1), (.max, 0), (.min, .min)])
    func contradictoryCountsAreRefused(successes: Int, recipients: Int) {
        #expect(RateCount(successes, of: recipients) == nil)
    }

    @Test func intervalsOfExtremeCountsContainTheRate() {
        for count in Self.edges {
            for alpha in [0.05, 0, -1, 1, .nan, .infinity] {
                let interval = count.interval(alpha: alpha)
                #expect((0...count.rate).contains(interval.low), "\(count)")
                #expect((count.rate...1).contains(interval.high), "\(count)")
            }
        }
    }

    @Test func oneLook() throws {
        let found = RateTest.once.compare(try count(500), try count(590))
        #expect(abs(found.deviate - 2.80349) < 1e-5)
        #expect(abs(found.deviate * found.deviate - 7.85954) < 1e-4)
        #expect(abs(found.p - 0.0050553) < 1e-6)
        #expect(abs(found.difference - 0.009) < 1e-12)
        #expect(abs(found.interval.low - 0.002709) < 1e-6)
        #expect(abs(found.interval.high - 0.015291) < 1e-6)
    }

    @Test(arguments: [
        (500, 3.8551), (1000, 3.3639), (5000, 3.0352), (20_000, 3.1271), (100_000, 3.3369),
    ])
    func thePriceOfLookingOften(sample: Int, width: Double) throws {
        let first = try #require(RateCount(sample / 10, of: sample / 2))
        let second = try #require(RateCount(sample / 8, of: sample / 2))
        let found = RateTest.always(expectedSample: 5000).compare(first, second)
        let half = (found.interval.high - found.interval.low) / 2
        #expect(abs(half * found.deviate / found.difference - width) < 1e-4)
    }

    @Test(arguments: [(590, 0.010037, 0.12658, 1e-5), (650, 0.010290, 0.00024152, 1e-8)])
    func manyLooks(successes: Int, half: Double, p: Double, tolerance: Double) throws {
        let found = RateTest.standard.compare(try count(500), try count(successes))
        #expect(abs((found.interval.high - found.interval.low) / 2 - half) < 1e-6)
        #expect(abs(found.p - p) < tolerance)
        #expect(found.interval.excludesZero == (p < 0.05))
    }

    @Test func comparisonsOfExtremeCountsAreFiguresOfRates() {
        let tests: [RateTest] = [.once, .standard, .always(expectedSample: 0), .always(expectedSample: .min)]
        for test in tests + [.always(expectedSample: .max)] {
            for first in Self.edges {
                for second in Self.edges {
                    let found = test.compare(first, second)
                    #expect((0...1).contains(found.p), "\(test) \(first) \(second)")
                    #expect((-1...found.difference).contains(found.interval.low), "\(test) \(first) \(second)")
                    #expect((found.difference...1).contains(found.interval.high), "\(test) \(first) \(second)")
                }
            }
        }
    }

    /// Otherwise the decision and the interval beside it would contradict each other.
    @Test(arguments: [0.05, 0.025, 0.01])
    func theAlwaysValidIntervalExcludesZeroWhenItsPIsSmall(alpha: Double) throws {
        let found = try (500...700).map { RateTest.standard.compare(try count(500), try count($0), alpha: alpha) }
        #expect(found.allSatisfy { $0.interval.excludesZero == ($0.p <= alpha) })
        #expect(Set(found.map(\.interval.excludesZero)).count == 2)
    }

    @Test func oneSuccessIsNoCertainty() throws {
        let none = try #require(RateCount(0, of: 500))
        let all = try #require(RateCount(1, of: 1))
        #expect(!RateTest.standard.compare(none, none).interval.excludesZero)
        #expect(!RateTest.standard.compare(none, all).interval.excludesZero)
        #expect(RateTest.standard.compare(none, none).p == 1)
    }

    private func count(_ successes: Int) throws -> RateCount {
        try #require(RateCount(successes, of: 10_000))
    }
}

struct PowerTests {
    @Test(arguments: [(0.05, 0.06, 8158), (0.05, 0.055, 31_234), (0.1, 0.11, 14_751), (0.02, 0.022, 80_682)])
    func recipientsForADifference(base: Double, other: Double, expected: Int) throws {
        #expect(RateTest.once.recipients(toFind: base, against: other) == expected)
        #expect(RateTest.once.recipients(toFind: other, against: base) == expected)
        let increase = try #require(RateTest.once.smallestIncrease(of: base, perArm: expected))
        #expect(abs(increase - (other - base)) < 1e-5)
        // Looking often needs about twice as many.
        let often = try #require(RateTest.standard.recipients(toFind: base, against: other))
        #expect(often > expected * 3 / 2 && often < expected * 3)
    }

    /// The planned test must be that of the simulation, which finds 5 % against 6 % with 25,000 an arm.
    @Test func theStandardTestFindsATypicalDifference() throws {
        #expect(try #require(RateTest.standard.recipients(toFind: 0.05, against: 0.06)) < 25_000)
        #expect(try #require(RateTest.once.smallestIncrease(of: 0.05, perArm: 500)) > 0.03)
    }

    @Test(arguments: [
        (0.05, 0.05), (-0.1, 0.5), (0.5, 1.5), (.nan, 0.5), (0.5, .nan), (0.5, 0.5.nextUp), (0, .infinity),
    ])
    func nothingIsFound(base: Double, other: Double) {
        for test in [RateTest.once, .standard] {
            #expect(test.recipients(toFind: base, against: other) == nil)
        }
    }

    @Test func increasesAtTheEdges() throws {
        #expect(RateTest.once.smallestIncrease(of: 1, perArm: 1000) == nil)
        #expect(RateTest.once.smallestIncrease(of: .nan, perArm: 1000) == nil)
        #expect(RateTest.once.smallestIncrease(of: 0.5, perArm: 0) == nil)
        #expect(RateTest.once.smallestIncrease(of: 0.5, perArm: -7) == nil)
        #expect(RateTest.once.smallestIncrease(of: 0.9, perArm: 3) == nil)
        #expect(try #require(RateTest.standard.smallestIncrease(of: 0.5, perArm: .max)) < 1e-6)
    }
}
