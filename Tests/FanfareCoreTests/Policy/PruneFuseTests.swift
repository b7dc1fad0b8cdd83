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
}
