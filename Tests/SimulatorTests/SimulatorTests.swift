import FanfareCore
import TestKit
import Testing

/// Tests of the daemon's promises under all faults.
///
/// A failure names its seed, and the seed alone reproduces it: `FANFARE_SEED=123 swift test --filter SimulatorTests`.
struct SimulatorTests {
    /// The number of seeds in one test: long runs are divided, so that they share the processors.
    private static let share: UInt64 = 50

    @Test(arguments: 0..<Soak.choose(UInt64(10), soak: 200))
    func whatIsPromisedHolds(part: UInt64) {
        for seed in SeedRange.of(part, share: Self.share) {
            for problem in Run(seed: seed).finish().prefix(3) { Issue.record("\(problem)") }
        }
    }

    /// Checks that suppressions hold, in every combination and under every fault.
    @Test(arguments: 0..<Soak.choose(UInt64(6), soak: 200))
    func nobodyIsDisturbed(part: UInt64) {
        let seeds = SeedRange.of(part, share: Combination.count / 3)
        var outcomes: Set<UInt8> = []
        for seed in seeds {
            let run = Run(seed: seed, combination: Combination(seed: seed))
            for problem in run.finish().prefix(3) { Issue.record("\(problem)") }
            for batch in run.server.rows.log.values { outcomes.formUnion(batch.outcomes) }
        }
        guard seeds.count > 1 else { return }
        // Otherwise the promises would be tested without any such case.
        let tried: [Outcome] = [.accepted, .cancelled, .capped, .expired, .heldQuiet, .quiet]
        for outcome in tried { #expect(outcomes.contains(outcome.rawValue), "of \(seeds)") }
    }

    @Test(arguments: [false, true])
    func aSeedReplaysExactly(withCombination: Bool) {
        for seed in UInt64(1)...20 {
            func run() -> Run { Run(seed: seed, combination: withCombination ? Combination(seed: seed) : nil) }
            let (first, second) = (run(), run())
            #expect(first.finish() == second.finish())
            #expect(first.world.trace == second.world.trace, "seed \(seed)")
        }
    }
}
