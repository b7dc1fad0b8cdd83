internal import FanfareCore

/// The values of `apns-push-type`, with what follows from each.
enum APNsPushType: String, CaseIterable, Sendable {
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

    /// The most bytes of a payload to a device.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// The most bytes of a payload to a broadcast channel (Apple, "Sending broadcast push notification requests to APNs").
    static let broadcastLimit = 5120

    /// `apns-expiration` where neither rule nor event say one; nil if APNs may store the push for as long as it likes.
    ///
    /// A call, or a talker, of some time ago is worse than none: these are delivered now or never.
    var defaultExpiration: String? { self == .voip || self == .pushtotalk ? "0" : nil }

    /// Whether only 0, deliver now or never, is a right `apns-expiration` (Apple, "Creating a Push to Talk app").
    var isNeverStored: Bool { self == .pushtotalk }

    /// The priority if the rule gives none.
    var defaultPriority: String { priorities[0] }

    /// The priorities Apple documents for it, the default first.
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
    /// The push type of tokens of this kind; nil if the payload decides.
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
