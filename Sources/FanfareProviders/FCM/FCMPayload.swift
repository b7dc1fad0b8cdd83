internal import FanfareCore

/// A tree whose size is computed like FCM's: the bytes of keys and values.
protocol PayloadSized: MergePatchable {
    /// The minimum size in bytes of keys and values, where templates are not rendered yet.
    var payloadSize: Int { get }
}

/// FCM's payload size: keys and values of the message as one operating system receives it.
enum FCMPayload {
    /// The maximum size in bytes, to devices and to topics.
    static let limit = 4096

    /// Returns the size of the message for the operating system with the largest payload.
    ///
    /// - Parameter message: an FCM message.
    /// - Returns: bytes of keys and values.
    static func size<Node: PayloadSized>(of message: Node) -> Int {
        let notification = member(message, "notification")
        let data = member(message, "data")
        let own = ["android", "android_v2", "webpush"].map { name in
            let block = member(message, name)
            let holder = name == "android_v2" ? block.flatMap { member($0, "remote_notification") } : block
            // The block's notification is merged over the common one; its data replaces the common data.
            let shown = merged(notification, holder.flatMap { member($0, "notification") })
            return shown + size(block.flatMap { member($0, "data") } ?? data)
        }
        let payload = member(message, "apns").flatMap { member($0, "payload") }
        return max(size(notification) + size(data) + size(payload), own.max() ?? 0)
    }

    private static func member<Node: PayloadSized>(_ node: Node, _ key: String) -> Node? {
        node.mergeMembers?.first { $0.key == key }?.value
    }

    private static func merged<Node: PayloadSized>(_ base: Node?, _ patch: Node?) -> Int {
        guard let patch else { return size(base) }
        return (base?.mergePatched(with: patch) ?? patch).payloadSize
    }

    private static func size<Node: PayloadSized>(_ node: Node?) -> Int { node?.payloadSize ?? 0 }
}

extension JSONValue: PayloadSized {
    var payloadSize: Int {
        switch self {
        case .null, .bool: encoded.count
        case .number(let number): number.literal.utf8.count
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + $1.payloadSize }
        case .object(let object): object.members.reduce(0) { $0 + $1.key.utf8.count + $1.value.payloadSize }
        }
    }
}

extension ContentNode: PayloadSized {
    var payloadSize: Int {
        switch self {
        case .literal(let value): value.payloadSize
        case .text(let template), .value(let template): template.fixedText.utf8.count
        case .checked(let checked): checked.template.fixedText.utf8.count
        case .derived, .badge: 0
        case .array(let nodes): nodes.reduce(0) { $0 + $1.payloadSize }
        case .object(let members): members.reduce(0) { $0 + $1.key.utf8.count + $1.value.payloadSize }
        }
    }
}
