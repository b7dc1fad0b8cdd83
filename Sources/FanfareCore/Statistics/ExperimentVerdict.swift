import Foundation

/// What the figures of an experiment permit to decide, with the figures that decide it.
public enum ExperimentVerdict: Hashable, Sendable {
    /// The leader is better than every other arm.
    case winner(ExperimentLead)
    /// The leader may be ahead by chance.
    case unclear(ExperimentLead)
    /// There are too few recipients or successes for any comparison.
    case tooSmall(ExperimentSize)
    /// The arms' sizes contradict the planned shares.
    case broken(SampleRatio)
}

/// The lead of the arm with the highest rate.
public struct ExperimentLead: Hashable, Sendable {
    /// The name of the arm with the highest rate.
    public let leader: String
    /// The name of the arm with the second highest rate.
    public let runnerUp: String
    /// The leader's rate minus that of the runner-up.
    public let lead: Double
    /// The values that the true lead may have, at the level of the runner-up's step (``HolmStep/level``).
    public let interval: RateInterval
    /// The largest adjusted p-value of the leader against the other arms; a winner has at most 0.05.
    public let p: Double
}

/// The size of an experiment, for the guards against small ones.
public struct ExperimentSize: Hashable, Sendable {
    /// The successes of all arms; saturates.
    public let successes: Int
    /// The name of the arm with the fewest recipients.
    public let smallestArm: String
    /// The number of that arm's recipients.
    public let recipients: Int

    /// Measures arms, of which there is at least one.
    init(_ arms: [ExperimentArm]) {
        let smallest = arms.dropFirst().reduce(arms[0]) { $1.count.recipients < $0.count.recipients ? $1 : $0 }
        successes = arms.reduce(0) { $0.addingClamping($1.count.successes) }
        smallestArm = smallest.name
        recipients = smallest.count.recipients
    }

    /// Whether both numbers suffice for a comparison.
    public var isSufficient: Bool {
        successes >= Experiment.leastSuccesses && recipients >= Experiment.leastRecipients
    }
}

extension ExperimentVerdict: CustomStringConvertible {
    /// The verdict in one word, for records and metrics.
    public var name: String {
        switch self {
        case .winner: "winner"
        case .unclear: "unclear"
        case .tooSmall: "too_small"
        case .broken: "broken"
        }
    }

    /// The verdict and its figures, as text for people.
    public var description: String {
        switch self {
        case .winner(let lead): "\(lead): a winner"
        case .unclear(let lead): "\(lead): not clear"
        case .tooSmall(let size):
            "too small: \(size.successes) successes (at least \(Experiment.leastSuccesses)), "
                + "\(size.recipients) recipients in \(size.smallestArm) (at least \(Experiment.leastRecipients))"
        case .broken(let ratio):
            "the arms' sizes contradict the planned shares: chi-square "
                + String(format: "%.1f, p %.2g", ratio.chiSquare, ratio.p)
        }
    }

    /// The verdict and its figures, as they are stored.
    public var record: JSONObject {
        var object = JSONObject()
        object["verdict"] = .string(name)
        switch self {
        case .winner(let lead), .unclear(let lead):
            object["leader"] = .string(lead.leader)
            object["runner_up"] = .string(lead.runnerUp)
            object["lead"] = .number(JSONNumber(figure: lead.lead))
            object["low"] = .number(JSONNumber(figure: lead.interval.low))
            object["high"] = .number(JSONNumber(figure: lead.interval.high))
            object["p"] = .number(JSONNumber(figure: lead.p))
        case .tooSmall(let size):
            object["successes"] = .number(JSONNumber(size.successes))
            object["smallest_arm"] = .string(size.smallestArm)
            object["recipients"] = .number(JSONNumber(size.recipients))
        case .broken(let ratio):
            object["chi_square"] = .number(JSONNumber(figure: ratio.chiSquare))
            object["p"] = .number(JSONNumber(figure: ratio.p))
        }
        return object
    }
}

extension ExperimentLead: CustomStringConvertible {
    /// The lead in percentage points, as text for people: "B leads A by 0.90 points (0.27 to 1.53)".
    public var description: String {
        "\(leader) leads \(runnerUp) by \(points(lead)) points (\(points(interval.low)) to \(points(interval.high)))"
    }

    private func points(_ difference: Double) -> String {
        String(format: "%.2f", difference * 100)
    }
}

extension JSONNumber {
    /// Makes a number of a figure; the text of a finite `Double` is a JSON number.
    ///
    /// - Parameter figure: the figure; infinity is clamped to the largest number, and NaN to 0.
    package init(figure: Double) {
        let largest = Double.greatestFiniteMagnitude
        self.init(uncheckedLiteral: figure.isNaN ? "0" : "\(min(max(figure, -largest), largest))")
    }
}
