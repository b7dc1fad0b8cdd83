package import FanfareCore
internal import FanfareProviders

/// The maximum rate of a campaign: pushes a second of all daemons together, constant or with a ramp.
package struct CampaignRate: Equatable, Sendable {
    /// A linear increase of the rate at the start of each run.
    package struct Ramp: Equatable, Sendable {
        static let keys = ["from", "over"]

        /// Pushes a second at the start; less than at the end.
        package let from: Int
        /// The duration of the increase.
        package let over: TimeSpan
    }

    private static let keys = ["per", "ramp"]

    /// Pushes a second, 1 to 1,000,000.
    package let perSecond: Int
    /// The ramp; nil if the rate is constant.
    package let ramp: Ramp?

    /// Parses `500/s`, or `{per: 500/s, ramp: {from: 50/s, over: 30m}}`.
    ///
    /// - Parameters:
    ///   - json: the value.
    ///   - path: its path in the campaign.
    /// - Throws: `RuleProblem` for anything else.
    package init(_ json: JSONValue, path: String) throws(RuleProblem) {
        guard json.objectValue != nil else {
            self.init(perSecond: try CampaignSpeed.read(json, path: path), ramp: nil)
            return
        }
        let reader = try RuleObject(json, path: path)
        try reader.checkKeys(Self.keys)
        let perSecond = try CampaignSpeed.read(reader.object["per"], path: reader.path("per"))
        let ramp = try reader.object["ramp"].map { json throws(RuleProblem) in
            try Ramp(json, path: reader.path("ramp"), below: perSecond)
        }
        self.init(perSecond: perSecond, ramp: ramp)
    }

    private init(perSecond: Int, ramp: Ramp?) {
        (self.perSecond, self.ramp) = (perSecond, ramp)
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

extension CampaignRate.Ramp {
    fileprivate init(_ json: JSONValue, path: String, below end: Int) throws(RuleProblem) {
        guard json.objectValue != nil else {
            throw RuleProblem(path: path, reason: "is not an object", hint: #"write {"from": "50/s", "over": "30m"}"#)
        }
        let reader = try RuleObject(json, path: path)
        try reader.checkKeys(Self.keys)
        from = try CampaignSpeed.read(reader.object["from"], path: reader.path("from"))
        let span = reader.object["over"]
        guard let over = span?.stringValue.flatMap({ TimeSpan($0) }) else {
            let reason = span == nil ? "is missing" : "is not a duration"
            throw RuleProblem(path: reader.path("over"), reason: reason, hint: TimeSpan.hint)
        }
        self.over = over
        guard from < end else {
            throw RuleProblem(
                path: reader.path("from"),
                reason: "\(from)/s is not below \(end)/s",
                hint: "a ramp grows from it to per: write less, or leave the ramp out"
            )
        }
    }
}
