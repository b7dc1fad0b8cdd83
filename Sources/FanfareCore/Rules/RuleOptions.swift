extension Lane {
    /// The word for it in rules: `transactional`, `normal`, `bulk`.
    public var name: String {
        switch self {
        case .transactional: "transactional"
        case .normal: "normal"
        case .bulk: "bulk"
        }
    }
}

/// What becomes of events that waited out an outage.
public enum BacklogPolicy: String, CaseIterable, Sendable {
    /// All that have not expired are sent.
    case send
    /// Per rule, `to` and `collapse` only the newest is sent.
    case latestPerCollapse = "latest_per_collapse"
    /// None is sent.
    case drop
}

/// What is promised about one device while daemons crash.
public enum DeliveryGuarantee: String, CaseIterable, Sendable {
    /// Repeated when in doubt.
    case atLeastOnce = "at_least_once"
    /// Never repeated; in doubt its outcome is `unknown`.
    case atMostOnce = "at_most_once"
}

/// What a token is for.
///
/// Only `device` joins audiences unless a rule asks for another kind.
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
