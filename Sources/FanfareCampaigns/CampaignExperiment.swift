package import FanfareCore
internal import FanfareProviders

/// An experiment between the variants of a campaign: a sample of the audience gets them, and the others get the best one.
package struct CampaignExperiment: Equatable, Sendable {
    /// What is compared.
    package enum Measure: String, Sendable {
        /// The share of people who opened the push, among those whose devices report receipts.
        case opened
        /// The share of people with an event of the rule's `conversion` type.
        case converted
    }

    /// What happens if no variant is clearly better.
    package enum Fallback: String, Sendable {
        /// The others wait for a later evaluation, or for an operator.
        case hold
        /// The others get the variant with the highest rate.
        case best
    }

    /// The default of ``wait``.
    package static let standardWait = "2h"

    /// The share of the audience that gets the variants, above 0 and up to 50 %.
    package let share: Percentage
    /// How long after the first responses the sample is evaluated; nil for ``standardWait``.
    package let wait: String?
    /// What is compared.
    package let measure: Measure
    /// What happens if no variant is clearly better.
    package let fallback: Fallback

    private static let key = "experiment"

    /// Reads the experiment of a campaign that ``DefinitionObject/campaign`` allows.
    ///
    /// - Parameter campaign: the campaign.
    /// - Returns: nil if it has none.
    /// - Throws: `RuleProblem` if nothing can be compared.
    static func read(_ campaign: JSONObject) throws(RuleProblem) -> CampaignExperiment? {
        guard let object = campaign[key]?.objectValue, let share = object.text("share").flatMap(Percentage.init) else {
            return nil
        }
        if campaign["canary"] != nil {
            let hint = "its share is sent first as well: remove the canary"
            throw RuleProblem(path: key, reason: "is beside canary", hint: hint)
        }
        let measure = object.text("by").flatMap(Measure.init) ?? .opened
        guard measure != .opened || campaign["report"]?.boolValue == true else {
            let hint = "without it, devices report nothing"
            throw RuleProblem(path: "\(key).by", reason: "needs report: true", hint: hint)
        }
        guard measure != .converted || campaign["conversion"] != nil || campaign["conversion_sql"] != nil else {
            throw RuleProblem(
                path: "\(key).by",
                reason: "needs conversion",
                hint: #"say which event counts, as in {"event": "order.paid", "user": "$.new.customer_id"}"#
            )
        }
        return CampaignExperiment(
            share: share,
            wait: object.text("wait"),
            measure: measure,
            fallback: object.text("unclear").flatMap(Fallback.init) ?? .hold
        )
    }

    /// Refuses an experiment whose others would wait too long, or between fewer than two variants.
    ///
    /// - Parameters:
    ///   - groups: the variants of the campaign.
    ///   - ttl: how long its pushes may be sent.
    ///   - isByRecipientTime: whether it is sent at each recipient's local time.
    /// - Throws: `RuleProblem`.
    func check(_ groups: RuleGroups, ttl: TimeSpan, isByRecipientTime: Bool) throws(RuleProblem) {
        if isByRecipientTime {
            let hint = "the others would wait for the sample of every zone: give the schedule a zone"
            throw RuleProblem(path: Self.key, reason: "cannot be with time_zone: recipient", hint: hint)
        }
        if let wait = TimeSpan(wait ?? Self.standardWait), wait.seconds >= ttl.seconds {
            let hint = "the others would expire while they wait: give a longer ttl, which is 24h without one"
            throw RuleProblem(path: "\(Self.key).wait", reason: "is not shorter than the ttl", hint: hint)
        }
        guard Self.weights(groups).count > 1 else {
            let hint = "give two variants or more a weight above 0"
            throw RuleProblem(path: Self.key, reason: "needs two variants", hint: hint)
        }
    }

    /// The weights above 0.
    package static func weights(_ groups: RuleGroups) -> [Int64] {
        groups.variants.map(\.weight).filter { $0 > 0 }
    }

    /// The experiment as JSON, without defaults.
    var json: JSONValue {
        var object = JSONObject()
        object["share"] = .string(share.text)
        object["wait"] = wait.map { .string($0) }
        if measure != .opened { object["by"] = .string(measure.rawValue) }
        if fallback != .hold { object["unclear"] = .string(fallback.rawValue) }
        return .object(object)
    }
}
