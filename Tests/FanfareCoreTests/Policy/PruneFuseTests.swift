import FanfareCore
import Testing

struct PruneFuseTests {
    @Test(arguments: [
        (PruneCounts(answers: 999, weak: 999), nil),
        (PruneCounts(answers: 1000, weak: 20), nil),
        (PruneCounts(answers: 1000, weak: 21), PruneEvidence.Strength.weak),
        (PruneCounts(answers: 1000, strong: 250), nil),
        (PruneCounts(answers: 1000, strong: 251), .strong),
        (PruneCounts(answers: 1000, weak: 20, strong: 250), nil),
        (PruneCounts(answers: .max, weak: .max, strong: .max), nil),
        (PruneCounts(), nil),
    ])
    func itBlowsBeyondTheShareWithEnoughAnswers(counts: PruneCounts, strength: PruneEvidence.Strength?) {
        #expect(PruneFuse.judge(counts) == strength)
        var fuse = PruneFuse()
        #expect(fuse.observe(counts, at: 7) == (strength.map { .blown(by: $0, at: 7) } ?? .intact))
        #expect(fuse.allowsPruning == (strength == nil))
    }

    @Test func countsOlderThanTenMinutesAreForgotten() {
        var fuse = PruneFuse()
        fuse.record(PruneCounts(answers: 600, weak: 15), at: 0)
        fuse.record(PruneCounts(answers: 600, weak: 15), at: 10 * Micros.minute)
        #expect(fuse.allowsPruning)
        fuse.record(PruneCounts(answers: 400, weak: 6), at: 19 * Micros.minute)
        #expect(fuse.state == .blown(by: .weak, at: 19 * Micros.minute))
    }

    @Test func itStaysBlownUntilItIsResetAndThenCountsAnew() {
        var fuse = PruneFuse()
        fuse.blow(by: .strong, at: 5)
        fuse.record(PruneCounts(answers: 1_000_000), at: 60 * Micros.minute)
        fuse.blow(by: .weak, at: 6)
        #expect(fuse.state == .blown(by: .strong, at: 5))
        fuse.reset()
        #expect(fuse == PruneFuse())
    }

    @Test func aWrongHostStopsPruningWhileFewDevicesAreLost() {
        var fuse = PruneFuse()
        var pruned = 0
        for batch in 0..<100 {
            fuse.record(PruneCounts(answers: 100, weak: 100), at: Int64(batch))
            if fuse.allowsPruning { pruned += 100 }
        }
        #expect(pruned == 900)
    }

    @Test(arguments: [
        // With enough answers: all of them, or none.
        (
            PruneCounts(answers: 10_000, weak: 200, strong: 2500), PruneCounts(answers: 0, weak: 150, strong: 2000),
            150, 2000
        ),
        (PruneCounts(answers: 10_000, weak: 201), PruneCounts(answers: 0, weak: 1), 0, 0),
        (PruneCounts(answers: 1000, strong: 250), PruneCounts(answers: 0, strong: 250), 0, 250),
        // With too few: as many as 1,000 answers would allow, and 100 in any case.
        (PruneCounts(answers: 999, weak: 999), PruneCounts(answers: 0, weak: 999), 100, 0),
        (PruneCounts(answers: 999, weak: 999), PruneCounts(answers: 0, weak: 909), 10, 0),
        (PruneCounts(answers: 999, strong: 999), PruneCounts(answers: 0, strong: 999), 0, 250),
        (PruneCounts(answers: 500, weak: 50, strong: 300), PruneCounts(answers: 0, weak: 1, strong: 60), 1, 10),
        (PruneCounts(answers: 500, strong: 500), PruneCounts(answers: 0, strong: 100), 0, 0),
    ])
    func whatIsDisabledIsBoundedBeforeAShareMeansAnything(
        sum: PruneCounts,
        fresh: PruneCounts,
        weak: Int,
        strong: Int
    ) {
        #expect(PruneFuse.allowance(in: sum, for: fresh) == PruneAllowance(weak: weak, strong: strong))
    }
}
