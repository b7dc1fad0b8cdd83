/// One of the variants that an experiment compares.
public struct ExperimentArm: Hashable, Sendable {
    /// The variant's name.
    public let name: String
    /// The planned share of the recipients, above 0; only the proportions of the arms' shares count.
    public let share: Double
    /// The recipients whose devices can report, and the successes among them.
    public let count: RateCount

    /// Makes an arm.
    ///
    /// - Parameters:
    ///   - name: the variant's name.
    ///   - share: the planned share.
    ///   - recipients: the recipients whose devices can report.
    ///   - successes: the number of them that succeeded, each counted once.
    /// - Throws: `ExperimentProblem` if the numbers contradict each other.
    public init(
        name: String,
        share: Double,
        recipients: Int,
        successes: Int
    ) throws(ExperimentProblem) {
        guard share > 0, share.isFinite else {
            throw ExperimentProblem(reason: "the planned share of \(name) is \(share), which is not above 0")
        }
        guard let count = RateCount(successes, of: recipients) else {
            throw ExperimentProblem(reason: "\(name) has \(successes) successes of \(recipients) recipients")
        }
        self.name = name
        self.share = share
        self.count = count
    }
}

/// Why figures are not those of an experiment.
public struct ExperimentProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The contradiction.
    public let reason: String

    /// The contradiction, as text for people.
    public var description: String { reason }
}

/// The figures of an experiment at one look: which of several variants has the highest rate of successes.
public struct Experiment: Hashable, Sendable {
    /// The number of successes, over all arms, below which an experiment is too small.
    public static let leastSuccesses = 100
    /// The number of recipients below which an arm is too small.
    public static let leastRecipients = 500

    /// The arms, in the order of the definition.
    public let arms: [ExperimentArm]
    /// The test that compares the leader with each other arm.
    public let test: RateTest

    /// Makes an experiment.
    ///
    /// - Parameters:
    ///   - arms: two arms or more, with different names.
    ///   - test: the test, which must be fixed before the first look.
    /// - Throws: `ExperimentProblem` if there are not two arms, or if two have the same name.
    public init(_ arms: [ExperimentArm], test: RateTest = .standard) throws(ExperimentProblem) {
        guard arms.count > 1 else {
            throw ExperimentProblem(reason: "an experiment needs two arms, not \(arms.count)")
        }
        guard Set(arms.map(\.name)).count == arms.count else {
            throw ExperimentProblem(reason: "two arms have the same name")
        }
        self.arms = arms
        self.test = test
    }

    /// The decision that the figures permit.
    ///
    /// The sample ratio is checked first, because rates of a broken assignment say nothing. The leader is the arm with
    /// the highest rate, and the first of equal ones. It wins if Holm's procedure rejects equality with every other arm.
    public var verdict: ExperimentVerdict {
        if let ratio = SampleRatio(arms.map { ($0.share, $0.count.recipients) }), ratio.isBroken {
            return .broken(ratio)
        }
        let size = ExperimentSize(arms)
        guard size.isSufficient else { return .tooSmall(size) }
        let leader = arms.dropFirst().reduce(arms[0]) { $1.count.rate > $0.count.rate ? $1 : $0 }
        let rivals = arms.filter { $0.name != leader.name }
        let steps = HolmStep.all(of: rivals.map { test.compare($0.count, leader.count).p })
        let runnerUp = rivals.indices.dropFirst().reduce(0) {
            rivals[$1].count.rate > rivals[$0].count.rate ? $1 : $0
        }
        let rival = rivals[runnerUp]
        let compared = test.compare(rival.count, leader.count, alpha: steps[runnerUp].level)
        let lead = ExperimentLead(
            leader: leader.name,
            runnerUp: rival.name,
            lead: compared.difference,
            interval: compared.interval,
            p: steps.reduce(0) { max($0, $1.adjustedP) }
        )
        return steps.allSatisfy(\.isRejected) ? .winner(lead) : .unclear(lead)
    }
}
