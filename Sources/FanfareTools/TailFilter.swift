public import FanfareCore
internal import FanfareProviders
internal import FanfareStore

extension LogTail {
    /// Which lines to follow: those that meet all that is set.
    public struct Filter: Sendable {
        /// Of this event only.
        public var eventID: Int64?
        /// Of this type only.
        public var eventType: String?
        /// Only pushes to devices of this user.
        public var user: String?
        /// Only pushes of this app.
        public var app: String?
        /// Only pushes of the rules of this name.
        public var rule: String?
        /// Only these outcomes of pushes and fates of events; nil for all.
        public var outcomes: [String]?
        /// From then on; nil for now.
        public var since: Since?

        /// Makes a filter that lets everything pass.
        public init() {}

        /// All outcomes and fates that there are.
        public static var words: [String] {
            OutcomeKind.allCases.map(\.rawValue)
                + EventFate.allCases.map(\.name).filter { OutcomeKind(rawValue: $0) == nil }
        }

        /// What did not get there although nobody wanted it so.
        public static let failures = ["retrying", "gone", "rejected", "refused", "expired", "exhausted", "unknown"]

        /// Whether lines of events are left out: they have no user, app or rule.
        var hidesEvents: Bool { user != nil || app != nil || rule != nil }

        /// Whether lines of campaigns are left out: they tell of many pushes, not of one that a user gets or that ends in some way.
        var hidesCampaigns: Bool { user != nil || outcomes != nil }

        /// Whether a campaign is among what is followed.
        func shows(_ run: CampaignRun) -> Bool {
            (app ?? run.app) == run.app && (eventType ?? run.eventType) == run.eventType
                && (rule == nil || rule == RuleNames.ofCampaign(run.campaign))
                && (eventID == nil || eventID == run.eventID)
        }
    }
}
