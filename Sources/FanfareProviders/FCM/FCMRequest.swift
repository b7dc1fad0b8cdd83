internal import FanfareCore

/// The parts of an FCM request other than the message: its path and its recipient.
public enum FCMRequest {
    /// The request path.
    ///
    /// - Parameter project: the project's id or number, as in the service account file.
    /// - Returns: `/v1/projects/…/messages:send`.
    public static func path(project: String) -> String { "/v1/projects/\(project)/messages:send" }

    /// Turns a push into one that FCM validates and does not deliver.
    ///
    /// - Parameter body: ``RenderedPush/body`` of a push for FCM.
    /// - Returns: the same body with `validate_only`; the part after the insertion is unchanged.
    public static func validatingOnly(_ body: [UInt8]) -> [UInt8] {
        Array("{\"validate_only\":true,".utf8) + body.dropFirst()
    }
}

/// The recipient of one FCM message.
public enum FCMTarget: Equatable, Sendable {
    /// One registration token.
    case token(String)
    /// One Firebase installation id (FID).
    case installation(String)
    /// The subscribers of one of FCM's own topics; the name has no prefix.
    case topic(String)
    /// The devices that meet a condition on FCM's own topics.
    case condition(String)

    /// The last member of the message, inserted between ``RenderedPush/body`` and ``RenderedPush/bodySuffix``.
    public var insertion: [UInt8] {
        let (key, value) =
            switch self {
            case .token(let token): ("token", token)
            case .installation(let id): ("fid", id)
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
    /// The audience as an FCM recipient; nil for a channel.
    package var fcm: FCMTarget? {
        switch self {
        case .fcmTopic(let name): .topic(name)
        case .fcmCondition(let text): .condition(text)
        case .channel: nil
        }
    }
}
