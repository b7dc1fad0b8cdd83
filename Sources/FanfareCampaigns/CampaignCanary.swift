package import FanfareCore
internal import FanfareProviders

/// The canary of a campaign: a small part of the audience that is sent first, sampled by a hash that differs with each run.
package struct CampaignCanary: Equatable, Sendable {
    /// The size of the canary.
    package enum Size: Equatable, Sendable {
        /// A share of the audience, above 0 and up to 50 %.
        case share(Percentage)
        /// An approximate number of devices, 1 to 1,000,000.
        case devices(Int)
    }

    /// The default of ``wait``.
    package static let standardWait = "10m"

    /// The size of the canary.
    package let size: Size
    /// How long after the first answers the canary is evaluated; nil for ``standardWait``.
    package let wait: String?
    /// The highest share of failures among the answers; nil for 2 %.
    package let maxFailed: Percentage?

    /// Reads an object that ``DefinitionObject/canary`` allows.
    init(_ object: JSONObject) throws(RuleProblem) {
        let share = object.text("share").flatMap(Percentage.init)
        let devices = object["devices"]?.numberValue?.integer
        guard (share == nil) != (devices == nil) else {
            throw RuleProblem(
                path: "canary",
                reason: share == nil ? "has neither share nor devices" : "has share and devices",
                hint: "give one of share and devices"
            )
        }
        size = share.map(Size.share) ?? .devices(Int(clamping: devices ?? 0))
        wait = object.text("wait")
        maxFailed = object.text("max_failed").flatMap(Percentage.init)
    }

    /// Creates the canary that is the sample of an experiment.
    init(share: Percentage, wait: String) {
        size = .share(share)
        self.wait = wait
        maxFailed = nil
    }

    /// The canary as JSON, without defaults.
    var json: JSONValue {
        var object = JSONObject()
        switch size {
        case .share(let share): object["share"] = .string(share.text)
        case .devices(let count): object["devices"] = JSONValue(integerLiteral: Int64(count))
        }
        object["wait"] = wait.map { .string($0) }
        object["max_failed"] = maxFailed.map { .string($0.text) }
        return .object(object)
    }
}
