import FanfareCore
import Testing

struct ExperimentTests {
    @Test func aClearLeaderWins() throws {
        let experiment = try experiment([("a", 500, 10_000), ("b", 650, 10_000)])
        guard case .winner(let lead) = experiment.verdict else { Issue.record("\(experiment.verdict)"); return }
        #expect(lead.leader == "b" && lead.runnerUp == "a")
        #expect(abs(lead.interval.low - (0.015 - 0.010290)) < 1e-6)
        #expect(abs(lead.p - 0.00024152) < 1e-8)
        #expect("\(experiment.verdict)" == "b leads a by 1.50 points (0.47 to 2.53): a winner")
        #expect(experiment.verdict.record["verdict"] == "winner")
        #expect(experiment.verdict.record["leader"] == "b")
    }

    @Test func aLeadThatOneLookWouldCallClearIsNotClear() throws {
        let arms: [(String, Int, Int)] = [("a", 590, 10_000), ("b", 500, 10_000)]
        let often = try experiment(arms).verdict
        #expect("\(often)" == "a leads b by 0.90 points (-0.10 to 1.90): not clear")
        guard case .winner = try experiment(arms, test: .once).verdict else { Issue.record("not found"); return }
    }

    /// A winner beats all others: the worst arm does not help the best two apart.
    @Test func twoEqualLeadersHaveNoWinner() throws {
        let verdict = try experiment([("a", 650, 10_000), ("b", 500, 10_000), ("c", 650, 10_000)]).verdict
        guard case .unclear(let lead) = verdict else { Issue.record("\(verdict)"); return }
        #expect(lead.leader == "a" && lead.runnerUp == "c")
        #expect(lead.lead == 0 && lead.p == 1)
    }

    @Test func moreArmsNeedStrongerEvidence() throws {
        let two = try experiment([("a", 500, 10_000), ("b", 605, 10_000)])
        let eight = try experiment([("b", 605, 10_000)] + (1...7).map { ("a\($0)", 500, 10_000) })
        guard case .winner = two.verdict, case .unclear(let lead) = eight.verdict else {
            Issue.record("\(two.verdict), \(eight.verdict)")
            return
        }
        #expect(!lead.interval.excludesZero)
    }

    private static let small: [([(String, Int, Int)], String, Int)] = [
        ([("a", 40, 500), ("b", 59, 500)], "a", 500), ([("a", 60, 499), ("b", 200, 520)], "a", 499),
        ([("a", 0, 0), ("b", 0, 0)], "a", 0),
    ]

    @Test(arguments: small)
    func smallExperimentsHaveNoVerdict(arms: [(String, Int, Int)], smallest: String, recipients: Int) throws {
        guard case .tooSmall(let size) = try experiment(arms).verdict else { Issue.record("judged"); return }
        #expect(size.smallestArm == smallest && size.recipients == recipients)
        #expect(size.successes == arms.reduce(0) { $0 + $1.1 })
    }

    @Test func aBrokenAssignmentHasNoWinner() throws {
        let verdict = try experiment([("a", 500, 10_000), ("b", 5000, 11_000)]).verdict
        guard case .broken(let ratio) = verdict else { Issue.record("\(verdict)"); return }
        #expect(abs(ratio.chiSquare - 47.619) < 1e-3)
        #expect("\(verdict)".hasPrefix("the arms' sizes contradict the planned shares: chi-square 47.6, p 5.2e-12"))
    }

    @Test func contradictionsAreRefused() {
        let contradictions: [(Double, Int, Int)] = [
            (0, 5, 1), (-1, 5, 1), (.nan, 5, 1), (.infinity, 5, 1), (1, 5, 6), (1, -5, 0), (1, 5, -1),
        ]
        for (share, recipients, successes) in contradictions {
            #expect(throws: ExperimentProblem.self) {
                try ExperimentArm(name: "a", share: share, recipients: recipients, successes: successes)
            }
        }
        #expect(throws: ExperimentProblem.self) { try experiment([]) }
        #expect(throws: ExperimentProblem.self) { try experiment([("a", 1, 5)]) }
        #expect(throws: ExperimentProblem.self) { try experiment([("a", 1, 5), ("b", 1, 5), ("a", 1, 5)]) }
    }

    @Test func everyExperimentHasAVerdictWithFigures() throws {
        for test in [RateTest.once, .standard] {
            for first in RateTests.edges {
                for second in RateTests.edges {
                    let arms = [first, second, second].enumerated().map {
                        ("\($0.offset)", $0.element.successes, $0.element.recipients)
                    }
                    let verdict = try experiment(arms, test: test).verdict
                    for figure in ["lead", "low", "high"] {
                        guard let number = verdict.record[figure]?.numberValue else { continue }
                        #expect((-1...1).contains(try #require(Double(number.literal))), "\(verdict)")
                    }
                }
            }
        }
    }

    private func experiment(
        _ arms: [(String, Int, Int)],
        test: RateTest = .standard
    ) throws(ExperimentProblem) -> Experiment {
        var made: [ExperimentArm] = []
        for (name, successes, recipients) in arms {
            made.append(try ExperimentArm(name: name, share: 1, recipients: recipients, successes: successes))
        }
        return try Experiment(made, test: test)
    }
}
