internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareProviders
internal import FanfareTools

/// What the sample of an experiment can find, to be said before it is sent.
package struct ExperimentForecast: Equatable, Sendable {
    /// A rate, and the smallest increase of it that is found in 80 % of experiments.
    package struct Step: Equatable, Sendable {
        package let base: Double
        /// The increase of the rate; nil if not even an increase to 100 % is found.
        package let increase: Double?
    }

    /// The rates for which the smallest increase is told.
    private static let bases = [0.01, 0.05, 0.2]

    /// The devices of the variant with the smallest weight in the sample.
    package let smallestArm: Int
    package let steps: [Step]

    /// Computes the forecast; nil without an experiment.
    ///
    /// - Parameters:
    ///   - devices: the devices of the audience. People with several devices, and devices that cannot report, make the
    ///     sample smaller.
    ///   - campaign: the campaign.
    init?(devices: Int64, _ campaign: CampaignDefinition) {
        guard let experiment = campaign.experiment else { return nil }
        let groups = campaign.rule.definition.groups
        let weights = CampaignExperiment.weights(groups)
        guard let least = weights.min() else { return nil }
        let reached = Double(devices) * experiment.share.part * (1 - (groups.holdout?.part ?? 0))
        smallestArm = Int(reached * Double(least) / Double(weights.reduce(0, +)))
        let arm = smallestArm
        steps = Self.bases.map { base in
            let alpha = RateTest.alpha / Double(max(1, weights.count - 1))
            return Step(base: base, increase: RateTest.standard.smallestIncrease(of: base, perArm: arm, alpha: alpha))
        }
    }

    /// Whether a variant has too few people for any verdict.
    package var isTooSmall: Bool { smallestArm < Experiment.leastRecipients }

    /// The forecast as JSON.
    var json: JSONValue {
        var object = JSONObject()
        object["smallest_arm"] = JSONValue(Int64(smallestArm))
        object["finds"] = .array(
            steps.map { step in
                [
                    "base": .number(JSONNumber(figure: step.base)),
                    "increase": step.increase.map { .number(JSONNumber(figure: $0)) } ?? .null,
                ]
            }
        )
        return .object(object)
    }
}
