internal import FanfareCore
public import PushTransport

/// A change of one membership: of one registration in one of FCM's own topics.
///
/// Source: Firebase guide "Manage topic subscriptions", and the Firebase Admin SDK for Go. One request changes one
/// membership, with the same access token and at the same endpoint as pushes.
public enum FCMTopicOperation: String, Sendable, CaseIterable {
    /// The registration joins the topic.
    case subscribe
    /// The registration leaves the topic.
    case unsubscribe

    /// The method of the request.
    public var method: RequestMethod {
        switch self {
        case .subscribe: .post
        case .unsubscribe: .delete
        }
    }

    /// The body of the request.
    public var body: [UInt8] {
        switch self {
        case .subscribe: Array("{}".utf8)
        case .unsubscribe: []
        }
    }

    /// The permission that the service account needs.
    public var permission: String {
        switch self {
        case .subscribe: "cloudmessaging.topicSubscriptions.create"
        case .unsubscribe: "cloudmessaging.topicSubscriptions.delete"
        }
    }

    /// Returns the request target.
    ///
    /// - Parameters:
    ///   - project: the project's id, as in the service account's file.
    ///   - registration: the device's token or installation id, as stored.
    ///   - topic: the topic's name, without `/topics/`.
    /// - Returns: path and query; nil if a name is `.` or `..`, which servers and proxies remove from a path.
    public func path(project: String, registration: String, topic: String) -> [UInt8]? {
        guard !Self.isDots(registration), !Self.isDots(topic) else { return nil }
        var path = Array("/v1/projects/\(project)/registrations/".utf8)
        Self.append(registration, to: &path)
        path += Array("/topicSubscriptions".utf8)
        switch self {
        case .subscribe:
            path += Array("?topic_name=".utf8)
            Self.append(topic, to: &path)
        case .unsubscribe:
            path.append(UInt8(ascii: "/"))
            Self.append(topic, to: &path)
            path += Array("?allow_missing=true".utf8)
        }
        return path
    }

    private static func isDots(_ name: String) -> Bool { name == "." || name == ".." }

    /// Appends a text as one segment: every byte but the unreserved ones is percent-encoded (RFC 3986 section 2).
    private static func append(_ text: String, to path: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                path.append(byte)
            default: path += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}
