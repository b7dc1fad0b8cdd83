/// The values of `apns-push-type`, with what follows from each.
enum APNSPushType: String, CaseIterable, Sendable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls

    /// What the topic has after the app's own (Apple, "Sending notification requests to APNs").
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The most bytes of a payload.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// The priority if the rule gives none.
    var defaultPriority: String { self == .background ? "5" : "10" }

    /// The priorities APNs accepts for it.
    var priorities: [String] {
        switch self {
        case .background: ["5"]
        case .pushtotalk: ["10"]
        default: ["10", "5", "1"]
        }
    }
}

extension DeviceKind {
    /// The push type of tokens of this kind; nil if the payload decides.
    var apnsPushType: APNSPushType? {
        switch self {
        case .device: nil
        case .voip: .voip
        case .liveActivity, .liveActivityStart: .liveactivity
        case .complication: .complication
        case .fileProvider: .fileprovider
        case .location: .location
        case .pushToTalk: .pushtotalk
        case .widget: .widgets
        case .control: .controls
        case .mdm: .mdm
        }
    }
}
