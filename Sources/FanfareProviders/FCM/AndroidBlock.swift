internal import FanfareCore

/// The block of a message for Android; a message has one of the two.
enum AndroidBlock: String {
    /// The block of FCM v1.
    case first = "android"
    /// Its successor, a preview: what it does tells FCM how urgent it is.
    case second = "android_v2"

    static let kinds = ["remote_notification", "background_sync"]
    private static let remote = "remote_notification"
    private static let sync = "background_sync"

    /// The block that a message has; ``first`` if it has none.
    init(of message: ContentNode) { self = message[Self.second.rawValue] == nil ? .first : .second }

    /// The path of the notification.
    var notification: [String] {
        self == .first ? [rawValue, "notification"] : [rawValue, Self.remote, "notification"]
    }

    /// Returns whether the block only wakes the app.
    func isSync(_ message: ContentNode) -> Bool { self == .second && message[[rawValue, Self.sync]] != nil }

    /// Returns whether a message shows a notification at once, past the saving of energy.
    static func isUrgent(_ message: ContentNode) -> Bool {
        let priority = message[[first.rawValue, "priority"]]?.literalValue?.stringValue
        return priority?.uppercased() == "HIGH" || message[[second.rawValue, remote]] != nil
    }

    /// Returns whether a message with the block ``first`` has anything for Android.
    static func hasContent(_ message: ContentNode) -> Bool {
        let places = [["notification"], ["data"], first.notification, [first.rawValue, "data"]]
        return places.contains { message[$0]?.mergeMembers?.isEmpty == false }
    }

    /// Returns a message with its block ``first``, or without one, as a message with the block ``second``.
    ///
    /// A notification, or data of high priority, becomes `remote_notification`; other data becomes `background_sync`.
    ///
    /// - Parameter message: the merged message.
    /// - Returns: nil if the priority of a message with data alone is a template.
    static func upgraded(_ message: ContentNode) -> ContentNode? {
        let given = message[first.rawValue]?.mergeMembers ?? []
        let own = message[first.notification]?.mergeMembers ?? []
        let isShown = message["notification"]?.mergeMembers?.isEmpty == false || !own.isEmpty
        let priority = given.first { $0.key == "priority" }?.value
        var block = given.filter { !["priority", "notification"].contains($0.key) }
        // The successor has no proxies.
        let kept = own.filter { !["proxy", "bypass_proxy_notification"].contains($0.key) }
        if isShown {
            block.append((remote, .object([("notification", .object(kept))])))
        } else if let priority, priority.literalValue == nil {
            return nil
        } else if isUrgent(message) {
            // Phones with an older SDK get data, as before.
            let options = [
                (key: "notification", value: ContentNode.object([])), ("use_as_v1_data_message", .literal(true)),
            ]
            block.append((remote, .object(options)))
        } else {
            block.append((sync, .object([])))
        }
        let rest = message.mergeMembers?.filter { $0.key != first.rawValue } ?? []
        return .object(rest + [(second.rawValue, .object(block))])
    }

    /// Checks that a message has at most one of the blocks, and the successor exactly one of its kinds.
    ///
    /// - Parameters:
    ///   - message: the merged message.
    ///   - part: the last part that was merged.
    /// - Throws: `RuleProblem` with the path in the part.
    static func check(_ message: ContentNode, in part: MessagePart) throws(RuleProblem) {
        guard let block = message[second.rawValue] else { return }
        if message[first.rawValue] != nil {
            let added = part.node[second.rawValue] == nil ? first : second
            throw RuleProblem(
                path: "\(part.path).\(added.rawValue)",
                reason: "is beside \((added == first ? second : first).rawValue)",
                hint: "FCM takes one of them; a locale removes the other with null"
            )
        }
        let kinds = Self.kinds.filter { block[$0] != nil }
        guard kinds.count != 1 else { return }
        let names = Self.kinds.joined(separator: kinds.isEmpty ? " nor " : " and ")
        throw RuleProblem(
            path: "\(part.path).\(second.rawValue)",
            reason: (kinds.isEmpty ? "has neither " : "has both ") + names,
            hint: "remote_notification shows at once, background_sync: {} may wait"
        )
    }
}
