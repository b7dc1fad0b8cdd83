import FanfareCore
import Testing

struct HolmTests {
    @Test func theProcedureStopsAtTheFirstLargeValue() {
        let steps = HolmStep.all(of: [0.01, 0.04, 0.03, 0.005])
        #expect(steps.map(\.isRejected) == [true, false, false, true])
        #expect(steps.map(\.level) == [0.05 / 3, 0.025, 0.025, 0.0125])
        for (step, adjusted) in zip(steps, [0.03, 0.06, 0.06, 0.02]) { #expect(abs(step.adjustedP - adjusted) < 1e-12) }
    }

    @Test func eachValueIsRejectedIfItsAdjustedValueIsSmall() {
        var generator = SeededGenerator(seed: 7)
        for size in 0..<200 {
            let values = (0..<size % 9).map { _ in Double.random(in: 0...0.1, using: &generator) }
            for step in HolmStep.all(of: values) { #expect(step.isRejected == (step.adjustedP <= 0.05)) }
        }
    }

    @Test func valuesThatAreNoProbabilitiesAreClamped() {
        let steps = HolmStep.all(of: [.nan, -1, 2, .infinity, -.infinity])
        #expect(steps.map(\.isRejected) == [false, true, false, false, true])
        #expect(steps.map(\.adjustedP) == [1, 0, 1, 1, 0])
        #expect(HolmStep.all(of: []) == [])
        #expect(HolmStep.all(of: [0.04], alpha: .nan).map(\.isRejected) == [false])
    }
}

struct SampleRatioTests {
    @Test(arguments: [
        (3.841459, 1, 0.05), (5.991465, 2, 0.05), (7.814728, 3, 0.05), (18.307038, 10, 0.05), (24.321886, 7, 0.001),
        (0, 3, 1), (-1, 3, 1), (.nan, 3, 1), (.infinity, 3, 0), (1e30, 4, 0),
    ])
    func tailsOfTheChiSquareDistribution(value: Double, degrees: Int, p: Double) {
        #expect(abs(Normal.chiSquareTail(value, degrees: degrees) - p) < 1e-7)
    }

    private static let sizes: [([(Double, Int)], Bool)] = [
        ([(1, 5000), (1, 5000)], false), ([(1, 4900), (1, 5100)], false), ([(1, 4800), (1, 5200)], true),
        ([(0.8, 80_000), (0.1, 10_000), (0.1, 10_100)], false), ([(8, 80_000), (1, 10_000), (1, 10_500)], true),
        // An arm that was not sent at all, and arms with too few recipients.
        ([(1, 10_000), (1, 0)], true), ([(1, 4), (1, 0)], false), ([(1, 0), (1, 0)], false),
        // Shares so small that the chi-square distribution does not hold.
        ([(1e9, 1000), (1, 0)], false), ([(1e9, 1000), (1, 1)], false), ([(1e9, 1000), (1, 600)], true),
        ([(.leastNonzeroMagnitude, 600), (1, 600)], true), ([(1, .max), (1, .max)], false),
        ([(1, .max), (1, 0)], true),
    ]

    private static let noPlans: [[(Double, Int)]] = [
        [], [(1, 5)], [(0, 5), (1, 5)], [(-1, 5), (1, 5)], [(.nan, 5), (1, 5)], [(.infinity, 5), (1, 5)],
        [(.greatestFiniteMagnitude, 5), (.greatestFiniteMagnitude, 5)], [(1, -5), (1, 5)],
    ]

    @Test(arguments: sizes)
    func sizesThatContradictTheShares(arms: [(Double, Int)], isBroken: Bool) throws {
        let ratio = try #require(SampleRatio(arms.map { (share: $0.0, recipients: $0.1) }))
        #expect(ratio.isBroken == isBroken)
        #expect((0...1).contains(ratio.p) && ratio.chiSquare >= 0)
    }

    @Test(arguments: noPlans)
    func sharesThatAreNoPlanAreRefused(arms: [(Double, Int)]) {
        #expect(SampleRatio(arms.map { (share: $0.0, recipients: $0.1) }) == nil)
    }
}
