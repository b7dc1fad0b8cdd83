/// Reads a decrypted message as Safari does (WebKit, `NotificationJSONParser`), the strictest reader of Declarative Web
/// Push.
struct DeclarativeCheck {
    /// `declarative`, or `would fall back, because …`: Safari treats such a message as an ordinary push.
    let presentation: String
    /// An error of the sender: the fallback, or a value that older and newer versions of Safari read differently.
    let problem: String?

    /// Reads a message; nil if it does not claim to be of the form.
    ///
    /// - Parameter plaintext: the decrypted message.
    init?(_ plaintext: [UInt8]) {
        guard let root = JSONParser.parse(plaintext)?.members, let mark = root["web_push"] else { return nil }
        if let fault = Self.fault(mark, root) {
            presentation = "would fall back, because \(fault)"
            problem = "Safari would not show the message as declarative: \(fault)"
        } else {
            presentation = "declarative"
            problem = Self.difference(root)
        }
    }

    /// Returns why WebKit's parser fails; nil if it does not.
    private static func fault(_ mark: JSONValue, _ root: JSONObject) -> String? {
        switch mark {
        case .integer(8030), .number(8030): break
        default: return "web_push is not the number 8030"
        }
        guard let shown = root["notification"]?.members else { return "notification is no object" }
        guard let title = shown["title"]?.text, !title.isEmpty else { return "notification.title is missing" }
        guard let link = shown["navigate"] else { return "notification.navigate is missing" }
        guard isAbsolute(link) else { return "notification.navigate is no absolute URL" }
        if let icon = shown["icon"], !isAbsolute(icon) { return "notification.icon is no absolute URL" }
        for key in ["body", "lang", "tag"] where shown[key].map({ $0.text == nil }) ?? false {
            return "notification.\(key) is no string"
        }
        if let direction = shown["dir"], !["ltr", "rtl", "auto"].contains(direction.text) {
            return "notification.dir is not ltr, rtl or auto"
        }
        for key in ["silent", "requireInteraction", "mutable"] {
            guard let value = shown[key] else { continue }
            guard case .bool = value else { return "notification.\(key) is no boolean" }
        }
        if let badge = shown["app_badge"], count(badge) == nil { return "notification.app_badge is no whole number" }
        return shown["actions"].flatMap(fault(inActions:))
    }

    private static func fault(inActions actions: JSONValue) -> String? {
        guard case .array(let elements) = actions else { return "notification.actions is no list" }
        for (index, element) in elements.enumerated() {
            let place = "notification.actions[\(index)]"
            guard let action = element.members else { return "\(place) is no object" }
            for key in ["action", "title", "navigate"] where action[key]?.text == nil {
                return "\(place).\(key) is missing"
            }
            if let link = action["navigate"], !isAbsolute(link) { return "\(place).navigate is no absolute URL" }
        }
        return nil
    }

    /// Returns which member is not the same in `notification`, where WebKit reads it, and at the top, where the draft of
    /// the W3C has it.
    private static func difference(_ root: JSONObject) -> String? {
        let shown = root["notification"]?.members
        switch (shown?["app_badge"], root["app_badge"]) {
        case (nil, nil): break
        case (.string(let text)?, .integer(let number)?) where text == String(number): break
        default: return "app_badge is not text in notification and the same number at the top"
        }
        switch (shown?["mutable"], root["mutable"]) {
        case (nil, nil), (.bool(true)?, .bool(true)?), (.bool(false)?, .bool(false)?): return nil
        default: return "mutable is not the same in notification and at the top"
        }
    }

    /// Returns whether a value is a URL that needs no base.
    private static func isAbsolute(_ value: JSONValue) -> Bool {
        guard let text = value.text else { return false }
        return text.wholeMatch(of: /(?i:https?):\/\/[^\s\/?#]+([\/?#]\S*)?/) != nil
    }

    private static func count(_ value: JSONValue) -> UInt64? {
        switch value {
        case .integer(let number): UInt64(exactly: number)
        case .number(let number): UInt64(exactly: number)
        case .string(let text) where text.utf8.allSatisfy { (48...57).contains($0) }: UInt64(text)
        default: nil
        }
    }
}
