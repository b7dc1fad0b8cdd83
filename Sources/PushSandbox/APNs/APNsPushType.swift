/// The push types of APNs; reference: Apple, "Sending notification requests to APNs".
enum APNsPushType: String, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// What the topic has behind the bundle id.
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

    /// Largest payload in bytes.
    var payloadLimit: Int {
        self == .voip ? 5120 : 4096
    }
}

/// Which topics a credential covers.
struct APNsTopics: Sendable {
    /// Every topic that the credential's apps can have.
    private let covered: Set<String>
    private let bundleIDs: [String]

    init(bundleIDs: [String]) {
        self.bundleIDs = bundleIDs
        covered = Set(bundleIDs.flatMap { id in APNsPushType.allCases.map { id + $0.topicSuffix } })
    }

    /// Whether the topic belongs to one of the credential's apps, whatever its suffix.
    func covers(_ topic: String) -> Bool {
        covered.contains(topic)
    }

    /// Whether the topic is one of the credential's apps with the suffix the push type asks for.
    func fits(_ topic: String, _ type: APNsPushType?) -> Bool {
        guard let type else { return true }
        return bundleIDs.contains { topic.hasPrefix($0) && topic.dropFirst($0.count) == type.topicSuffix }
    }
}
