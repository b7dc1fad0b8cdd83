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

    static let keys = ["share", "devices", "wait", "max_failed"]
    /// The default of ``wait``.
    package static let standardWait = "10m"
    private static let counts = 1...1_000_000
    private static let longestWait = TimeSpan(seconds: 7 * 86_400)

    /// The size of the canary.
    package let size: Size
    /// How long after the first answers the canary is evaluated; nil for ``standardWait``.
    package let wait: String?
    /// The highest share of failures among the answers; nil for 2 %.
    package let maxFailed: Percentage?

    init(_ reader: RuleObject) throws(RuleProblem) {
        try reader.checkKeys(Self.keys)
        switch (reader.object["share"], reader.object["devices"]) {
        case (let share?, nil):
            guard let share = share.stringValue.flatMap(Percentage.init), share.part > 0, share.part <= 0.5 else {
                throw RuleProblem(
                    path: reader.path("share"),
                    reason: "is not a share from above 0% to 50%",
                    hint: "write a share such as 1% or 0.5%"
                )
            }
            size = .share(share)
        case (nil, let devices?):
            guard let count = devices.numberValue?.integer, Self.counts.contains(Int(clamping: count)) else {
                throw RuleProblem(
                    path: reader.path("devices"),
                    reason: "is not a whole number from 1 to 1000000",
                    hint: "write about how many devices go first, such as 500"
                )
            }
            size = .devices(Int(count))
        case (let share, _):
            throw RuleProblem(
                path: reader.path,
                reason: share == nil ? "has neither share nor devices" : "has share and devices",
                hint: "give one of share and devices"
            )
        }
        wait = try reader.string("wait")
        if let wait, TimeSpan(wait).map({ $0.seconds > Self.longestWait.seconds }) ?? true {
            throw RuleProblem(
                path: reader.path("wait"),
                reason: "is not a duration up to 7d",
                hint: "write a whole number with s, m, h or d, such as 10m"
            )
        }
        maxFailed = try reader.object["max_failed"].map { value throws(RuleProblem) in
            guard let share = value.stringValue.flatMap(Percentage.init) else {
                throw RuleProblem(
                    path: reader.path("max_failed"),
                    reason: "is not a share from 0% to 100%",
                    hint: "write a share such as 2% or 0.5%"
                )
            }
            return share
        }
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
