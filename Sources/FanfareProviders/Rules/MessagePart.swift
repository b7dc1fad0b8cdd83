internal import FanfareCore

/// One message of a rule, or the changes of a locale to it, split into its parts and checked for shape.
package struct MessagePart {
    private static let addressKeys = ["token", "topic", "condition", "fid"]
    private static let forbiddenWebPushHeaders = ["authorization", "crypto-key", "content-encoding"]

    let path: String
    /// `title`, `body`, `image`; in a locale's changes they may be null, which removes them.
    let notification: RuleObject?
    /// Keys with strings; in a locale's changes they may be null.
    let data: RuleObject?
    let apnsHeaders: RuleObject?
    let apnsPayload: RuleObject?
    let apnsOptions: RuleObject?
    let webPushHeaders: RuleObject?
    /// The message without ``ownBlocks``, with its templates, checked as FCM would.
    let node: ContentNode
    /// The blocks for single providers, by ``MessageBlock/key``.
    let ownBlocks: [String: ContentNode]

    /// Parses a message.
    ///
    /// - Parameters:
    ///   - message: the message's object.
    ///   - isOverlay: whether it is a locale's changes, in which null is allowed and removes.
    /// - Throws: `RuleProblem` with the first error.
    init(_ message: RuleObject, isOverlay: Bool) throws(RuleProblem) {
        path = message.path
        let own = Providers.all.compactMap(\.messageBlock)
        try Self.checkKeys(message, MessageSchema.keys + own.map(\.key))
        var common = message.object
        var blocks: [String: ContentNode] = [:]
        for block in own {
            guard let value = common[block.key] else { continue }
            blocks[block.key] = try block.field.node(value, path: message.path(block.key), allowsNull: isOverlay)
            common[block.key] = nil
        }
        ownBlocks = blocks
        node = try MessageSchema.message.node(.object(common), path: path, allowsNull: isOverlay)
        notification = try message.object("notification")
        data = try message.object("data")
        let apns = try message.object("apns")
        apnsHeaders = try apns?.object("headers")
        apnsPayload = try apns?.object("payload")
        apnsOptions = try apns?.object("fcm_options")
        webPushHeaders = try message.object("webpush")?.object("headers")
        if let data { try Self.checkData(data) }
        for block in ["android", "android_v2", "webpush"] where node[[block, "data"]]?.mergeMembers != nil {
            if let data = try message.object(block)?.object("data") { try Self.checkData(data) }
        }
        for key in webPushHeaders?.object.keys ?? [] where Self.forbiddenWebPushHeaders.contains(key.lowercased()) {
            throw RuleProblem(path: "\(path).webpush.headers.\(key)", reason: "is set by Fanfare", hint: "remove it")
        }
    }

    private static func checkKeys(_ message: RuleObject, _ known: [String]) throws(RuleProblem) {
        for key in message.object.keys {
            if addressKeys.contains(key) {
                throw RuleProblem(path: message.path(key), reason: "names a target", hint: "say that in to:")
            }
            if key == "message" {
                throw RuleProblem(path: message.path(key), reason: "wraps the message again", hint: "leave it out")
            }
        }
        try message.checkKeys(known)
    }

    /// Refuses the keys that FCM reserves.
    private static func checkData(_ data: RuleObject) throws(RuleProblem) {
        for key in data.object.keys {
            let isReserved = key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm")
            if isReserved {
                throw RuleProblem(path: data.path(key), reason: "is a key FCM keeps for itself", hint: "rename it")
            }
            if key == "aps" {
                throw RuleProblem(path: data.path(key), reason: "would replace aps", hint: "use apns.payload.aps")
            }
        }
    }
}
