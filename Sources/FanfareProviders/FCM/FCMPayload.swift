internal import FanfareCore

/// A tree whose size FCM counts: the bytes of keys and values.
protocol PayloadSized: MergePatchable {
    /// The bytes of keys and values, at least, where templates are not rendered yet.
    var payloadSize: Int { get }
}

/// How FCM counts a payload: keys and values, by what one platform gets.
enum FCMPayload {
    /// The most bytes, to devices and to topics.
    static let limit = 4096

    /// The size of what the platform with the largest payload gets.
    ///
    /// - Parameter message: an FCM message.
    /// - Returns: bytes of keys and values.
    static func size<Node: PayloadSized>(of message: Node) -> Int {
        let notification = member(message, "notification")
        let data = member(message, "data")
        let own = ["android", "webpush"].map { name in
            let block = member(message, name)
            // A platform's notification is merged over the common one, its data takes the place of the common.
            let shown = merged(notification, block.flatMap { member($0, "notification") })
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
