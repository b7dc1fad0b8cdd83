internal import FanfareCore

/// What an FCM request says beside the message: where it goes, and whom it is for.
public enum FCMRequest {
    /// The request path.
    ///
    /// - Parameter project: the project's id or number, as in the service account file.
    /// - Returns: `/v1/projects/…/messages:send`.
    public static func path(project: String) -> String { "/v1/projects/\(project)/messages:send" }

    /// Makes a request of a push that FCM only checks and does not deliver.
    ///
    /// - Parameter body: ``RenderedPush/body`` of a push for FCM.
    /// - Returns: the same with `validate_only`; what follows the insertion stays as it is.
    public static func validatingOnly(_ body: [UInt8]) -> [UInt8] {
        Array("{\"validate_only\":true,".utf8) + body.dropFirst()
    }
}

/// Whom one FCM message is for.
public enum FCMTarget: Equatable, Sendable {
    /// One registration.
    case token(String)
    /// The subscribers of one of FCM's own topics; the name has no prefix.
    case topic(String)
    /// Those who meet a condition on FCM's own topics.
    case condition(String)

    /// The message's last member, which stands between ``RenderedPush/body`` and ``RenderedPush/bodySuffix``.
    public var insertion: [UInt8] {
        let (key, value) =
            switch self {
            case .token(let token): ("token", token)
            case .topic(let name): ("topic", name)
            case .condition(let text): ("condition", text)
            }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(key.utf8.count + value.utf8.count + 5)
        JSONValue.encode(key, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        JSONValue.encode(value, into: &bytes)
        return bytes
    }
}

extension NativeTarget {
    /// The same for a request to FCM; nil for a channel.
    package var fcm: FCMTarget? {
        switch self {
        case .fcmTopic(let name): .topic(name)
        case .fcmCondition(let text): .condition(text)
        case .channel: nil
        }
    }
}
