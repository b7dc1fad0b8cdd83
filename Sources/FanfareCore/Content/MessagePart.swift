/// One message of a rule, or what a locale changes in it, taken apart and checked for shape.
struct MessagePart {
    static let blockKeys = ["notification", "data", "android", "apns", "webpush", "fcm_options"]
    private static let addressKeys = ["token", "topic", "condition", "fid"]
    private static let forbiddenWebPushHeaders = ["authorization", "crypto-key", "content-encoding"]

    let path: String
    /// `title`, `body`, `image`; a locale's may be null, which removes.
    let notification: RuleObject?
    /// Keys with strings; a locale's may be null.
    let data: RuleObject?
    let apnsHeaders: RuleObject?
    let apnsPayload: RuleObject?
    let apnsOptions: RuleObject?

    /// Reads a message.
    ///
    /// - Parameters:
    ///   - message: the message's object.
    ///   - isOverlay: whether it is a locale's, in which null is allowed: it removes.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    init(_ message: RuleObject, isOverlay: Bool) throws(RuleProblem) {
        path = message.path
        try Self.checkKeys(message)
        notification = try message.object("notification")
        data = try message.object("data")
        let apns = try message.object("apns")
        try apns?.checkKeys(["headers", "payload", "fcm_options", "live_activity_token"])
        apnsHeaders = try apns?.object("headers")
        apnsPayload = try apns?.object("payload")
        apnsOptions = try apns?.object("fcm_options")
        if let notification {
            try notification.checkKeys(["title", "body", "image"])
            try Self.checkStrings(notification, allowNull: isOverlay)
        }
        if let data { try Self.checkData(data, allowNull: isOverlay) }
        if let apnsHeaders { try Self.checkStrings(apnsHeaders, allowNull: isOverlay) }
        try Self.checkAndroid(message.object("android"), isOverlay: isOverlay)
        try Self.checkWebPush(message.object("webpush"), isOverlay: isOverlay)
        for block in ["android", "webpush", "fcm_options"] {
            guard let value = message.object[block] else { continue }
            _ = try ContentNode(value, path: message.path(block), typing: .kept)
        }
    }

    private static func checkKeys(_ message: RuleObject) throws(RuleProblem) {
        for key in message.object.keys {
            if addressKeys.contains(key) {
                throw RuleProblem(path: message.path(key), reason: "says whom to reach", hint: "say that in to:")
            }
            if key == "message" {
                throw RuleProblem(path: message.path(key), reason: "wraps the message again", hint: "leave it out")
            }
        }
        try message.checkKeys(blockKeys)
    }

    private static func checkStrings(_ block: RuleObject, allowNull: Bool) throws(RuleProblem) {
        for member in block.object.members {
            if member.value.stringValue != nil || (allowNull && member.value.isNull) { continue }
            throw RuleProblem(
                path: block.path(member.key),
                reason: "is \(member.value.kindName)",
                hint: "a string is needed; put it in quotes"
            )
        }
    }

    /// FCM's rules for `data`: string values, and keys it does not use itself.
    private static func checkData(_ data: RuleObject, allowNull: Bool) throws(RuleProblem) {
        try checkStrings(data, allowNull: allowNull)
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

    private static func checkAndroid(_ android: RuleObject?, isOverlay: Bool) throws(RuleProblem) {
        guard let data = try android?.object("data") else { return }
        try checkData(data, allowNull: isOverlay)
    }

    private static func checkWebPush(_ webPush: RuleObject?, isOverlay: Bool) throws(RuleProblem) {
        guard let headers = try webPush?.object("headers") else { return }
        try checkStrings(headers, allowNull: isOverlay)
        for key in headers.object.keys where forbiddenWebPushHeaders.contains(key.lowercased()) {
            throw RuleProblem(path: headers.path(key), reason: "is set by Fanfare", hint: "remove it")
        }
    }
}
