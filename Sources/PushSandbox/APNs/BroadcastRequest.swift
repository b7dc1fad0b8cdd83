/// A request to publish to a broadcast channel, or to manage channels; reference: Apple, "Sending broadcast push
/// notification requests to APNs" and "Sending channel management requests to APNs".
struct BroadcastRequest {
    enum Operation {
        case publish
        case channels
        case list
    }

    private static let publishPrefix = "/4/broadcasts/apps/"
    private static let managePrefix = "/1/apps/"

    let request: PushRequest
    let operation: Operation
    let bundleID: String

    /// Returns whether a path belongs to broadcasts.
    static func serves(_ path: String) -> Bool {
        path.hasPrefix(publishPrefix) || path.hasPrefix(managePrefix)
    }

    /// Returns the channel that a request publishes to; nil for every other request.
    static func channelID(of head: RequestHead) -> String? {
        head.path.hasPrefix(publishPrefix) ? head.header("apns-channel-id") : nil
    }

    /// Reads a request; nil for a path of another API.
    init?(_ request: PushRequest) {
        self.request = request
        let path = request.head.path
        if path.hasPrefix(Self.publishPrefix) {
            operation = .publish
            bundleID = String(path.dropFirst(Self.publishPrefix.utf8.count))
        } else if path.hasPrefix(Self.managePrefix) {
            let parts = path.dropFirst(Self.managePrefix.utf8.count).split(separator: "/")
            switch parts.last {
            case "channels"? where parts.count == 2: operation = .channels
            case "all-channels"? where parts.count == 2: operation = .list
            default: return nil
            }
            bundleID = String(parts[0])
        } else {
            return nil
        }
        guard !bundleID.isEmpty, !bundleID.contains("/") else { return nil }
    }

    func header(_ name: String) -> String? {
        request.head.header(name)
    }

    /// Whether the operation allows the request's method.
    var hasMethod: Bool {
        switch operation {
        case .publish: request.head.method == "POST"
        case .channels: ["POST", "GET", "DELETE"].contains(request.head.method)
        case .list: request.head.method == "GET"
        }
    }

    /// Whether the operation needs a channel.
    var needsChannel: Bool {
        switch operation {
        case .publish: true
        case .channels: request.head.method != "POST"
        case .list: false
        }
    }

    /// Checks a publication, without its credential and channel.
    ///
    /// - Parameter policy: the channel's policy.
    /// - Returns: the reason for the rejection, or nil.
    func publishFailure(_ policy: BroadcastChannels.Policy) -> APNsRejection? {
        guard let type = header("apns-push-type") else { return .missingPushType }
        guard type.lowercased() == "liveactivity" else { return .invalidPushType }
        guard ["10", "5", "1"].contains(header("apns-priority")) else { return .badPriority }
        guard let expiration = header("apns-expiration").flatMap(UInt64.init), policy != .noMessage || expiration == 0
        else { return .badExpirationDate }
        let body = request.bytes
        guard !body.isEmpty else { return .payloadEmpty }
        guard body.count <= 5120 else { return .payloadTooLarge }
        return JSONParser.parse(body)?.members == nil ? .badRequestPayload : nil
    }
}
