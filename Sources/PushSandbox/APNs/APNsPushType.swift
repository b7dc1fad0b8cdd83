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

    /// The suffix of the topic after the bundle id.
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

    /// The largest payload in bytes.
    var payloadLimit: Int {
        self == .voip ? 5120 : 4096
    }
}

/// The topics that a credential covers.
struct APNsTopics: Sendable {
    /// All topics of the credential's apps.
    private let covered: Set<String>
    private let bundleIDs: [String]

    init(bundleIDs: [String]) {
        self.bundleIDs = bundleIDs
        covered = Set(bundleIDs.flatMap { id in APNsPushType.allCases.map { id + $0.topicSuffix } })
    }

    /// Returns whether a topic belongs to one of the credential's apps, with any suffix.
    func covers(_ topic: String) -> Bool {
        covered.contains(topic)
    }

    /// Returns whether a topic belongs to one of the credential's apps and has the suffix of the push type.
    func fits(_ topic: String, _ type: APNsPushType?) -> Bool {
        guard let type else { return true }
        return bundleIDs.contains { topic.hasPrefix($0) && topic.dropFirst($0.count) == type.topicSuffix }
    }
}
