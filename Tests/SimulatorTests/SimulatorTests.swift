import TestKit
import Testing

/// What the daemon promises, under whatever may go wrong.
///
/// A failure names its seed, and the seed alone makes it happen again: `FANFARE_SEED=123 swift test --filter
/// SimulatorTests`.
struct SimulatorTests {
    /// Seeds of one test: long runs are cut, so that they share the processors.
    private static let share: UInt64 = 50

    @Test(arguments: 0..<Soak.choose(UInt64(10), soak: 200))
    func whatIsPromisedHolds(part: UInt64) {
        for seed in SeedRange.of(part, share: Self.share) {
            for problem in Run(seed: seed).finish().prefix(3) { Issue.record("\(problem)") }
        }
    }

    @Test func aSeedReplaysExactly() {
        for seed in UInt64(1)...20 {
            let (first, second) = (Run(seed: seed), Run(seed: seed))
            #expect(first.finish() == second.finish())
            #expect(first.world.trace == second.world.trace, "seed \(seed)")
        }
    }
}
