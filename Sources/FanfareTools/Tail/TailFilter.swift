public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords

extension LogTail {
    /// Which lines to follow: lines that meet all conditions that are set.
    public struct Filter: Sendable {
        /// Only lines of this event.
        public var eventID: Int64?
        /// Only lines of events of this type.
        public var eventType: String?
        /// Only pushes to devices of this user.
        public var user: String?
        /// Only pushes of this app.
        public var app: String?
        /// Only pushes of the rules of this name.
        public var rule: String?
        /// Only these outcomes of pushes and fates of events; nil for all.
        public var outcomes: [String]?
        /// The start of the lines; nil for now.
        public var since: Since?

        /// Makes a filter without conditions.
        public init() {}

        /// The names of all outcomes and fates.
        public static var words: [String] {
            OutcomeKind.allCases.map(\.rawValue)
                + EventFate.allCases.map(\.name).filter { OutcomeKind(rawValue: $0) == nil }
        }

        /// The outcomes and fates of failures.
        public static let failures = ["retrying", "gone", "rejected", "refused", "expired", "exhausted", "unknown"]

        /// Whether event lines are left out: they have no user, app or rule.
        var hidesEvents: Bool { user != nil || app != nil || rule != nil }

        /// Whether campaign lines are left out: they cover many pushes, and have no user and no single outcome.
        var hidesCampaigns: Bool { user != nil || outcomes != nil }

        /// Returns whether the filter selects a campaign's run.
        func shows(_ run: CampaignRun) -> Bool {
            (app ?? run.app) == run.app && (eventType ?? run.eventType) == run.eventType
                && (rule == nil || rule == RuleNames.ofCampaign(run.campaign))
                && (eventID == nil || eventID == run.eventID)
        }
    }
}
