internal import FanfareCore

/// The values of `apns-push-type` and their properties.
enum APNsPushType: String, CaseIterable, Sendable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls

    /// The suffix that the topic has after the app's own topic (Apple, "Sending notification requests to APNs").
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

    /// The maximum size of a payload to a device, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// The maximum size of a payload to a broadcast channel, in bytes (Apple, "Sending broadcast push notification
    /// requests to APNs").
    static let broadcastLimit = 5120

    /// The `apns-expiration` if neither rule nor event sets one; nil if APNs may store the push for as long as it
    /// likes.
    ///
    /// A late call or Push to Talk transmission is useless, so these two types are delivered now or never.
    var defaultExpiration: String? { self == .voip || self == .pushtotalk ? "0" : nil }

    /// Whether the only valid `apns-expiration` is 0, deliver now or never (Apple, "Creating a Push to Talk app").
    var isNeverStored: Bool { self == .pushtotalk }

    /// The priority if the rule sets none.
    var defaultPriority: String { priorities[0] }

    /// The priorities that Apple documents for the type, the default first.
    var priorities: [String] {
        switch self {
        case .background: ["5"]
        case .voip, .pushtotalk: ["10"]
        case .location, .liveactivity: ["10", "5"]
        case .alert, .complication, .fileprovider, .mdm, .widgets, .controls: ["10", "5", "1"]
        }
    }
}

extension DeviceKind {
    /// The push type for tokens of this kind; nil if the payload decides.
    var apnsPushType: APNsPushType? {
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
