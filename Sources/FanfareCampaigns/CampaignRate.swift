package import FanfareCore
internal import FanfareProviders

/// The maximum rate of a campaign: pushes a second of all daemons together, constant or with a ramp.
package struct CampaignRate: Equatable, Sendable {
    /// A linear increase of the rate at the start of each run.
    package struct Ramp: Equatable, Sendable {
        /// Pushes a second at the start; less than at the end.
        package let from: Int
        /// The duration of the increase.
        package let over: TimeSpan
    }

    /// Pushes a second, 1 to 1,000,000.
    package let perSecond: Int
    /// The ramp; nil if the rate is constant.
    package let ramp: Ramp?

    /// Reads `500/s`, or `{per: 500/s, ramp: {from: 50/s, over: 30m}}`, as ``DefinitionObject/rate`` allows it.
    ///
    /// - Parameter json: the value.
    /// - Throws: `RuleProblem` for a ramp that does not grow.
    package init(_ json: JSONValue) throws(RuleProblem) {
        let object = json.objectValue
        perSecond = try Speed.read(object?["per"] ?? json, path: "rate")
        guard let ramp = object?["ramp"]?.objectValue, let over = ramp.text("over").flatMap({ TimeSpan($0) }) else {
            self.ramp = nil
            return
        }
        let from = try Speed.read(ramp["from"], path: "rate.ramp.from")
        guard from < perSecond else {
            throw RuleProblem(
                path: "rate.ramp.from",
                reason: "\(from)/s is not below \(perSecond)/s",
                hint: "a ramp grows from it to per: write less, or leave the ramp out"
            )
        }
        self.ramp = Ramp(from: from, over: over)
    }

    /// The rate as JSON.
    package var json: JSONValue {
        guard let ramp else { return .string("\(perSecond)/s") }
        return [
            "per": .string("\(perSecond)/s"),
            "ramp": ["from": .string("\(ramp.from)/s"), "over": .string(ramp.over.description)],
        ]
    }

    /// The rate as text, such as `500/s, growing from 50/s over 30m`.
    package var text: String {
        "\(perSecond)/s" + (ramp.map { ", growing from \($0.from)/s over \($0.over)" } ?? "")
    }
}
