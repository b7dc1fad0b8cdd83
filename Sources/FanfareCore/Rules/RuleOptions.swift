extension Lane {
    /// The lane's name in rules: `transactional`, `normal`, `bulk`.
    public var name: String {
        switch self {
        case .transactional: "transactional"
        case .normal: "normal"
        case .bulk: "bulk"
        }
    }

    /// The lane of a name in rules; nil for any other text.
    init?(name: String) {
        guard let lane = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = lane
    }
}

/// The handling of events that waited during an outage.
public enum BacklogPolicy: String, CaseIterable, Sendable {
    /// All that have not expired are sent.
    case send
    /// Only the newest is sent for each rule, `to` and `collapse`.
    case latestPerCollapse = "latest_per_collapse"
    /// None is sent.
    case drop
}

/// The guarantee for one device if daemons crash.
public enum DeliveryGuarantee: String, CaseIterable, Sendable {
    /// Repeated if the result is unknown.
    case atLeastOnce = "at_least_once"
    /// Never repeated; if the result is unknown, the outcome is `unknown`.
    case atMostOnce = "at_most_once"
}

/// The kind of a token.
///
/// Only tokens of kind `device` join audiences, unless a rule selects another kind.
public enum DeviceKind: String, CaseIterable, Sendable {
    /// Ordinary notifications.
    case device
    /// PushKit calls.
    case voip
    /// An update token of a Live Activity.
    case liveActivity = "live_activity"
    /// A push-to-start token of Live Activities.
    case liveActivityStart = "live_activity_start"
    /// Watch complications.
    case complication
    /// File provider changes.
    case fileProvider = "file_provider"
    /// Location queries.
    case location
    /// Push to Talk.
    case pushToTalk = "push_to_talk"
    /// Widget reloads.
    case widget
    /// Control reloads.
    case control
    /// Mobile device management.
    case mdm
}
