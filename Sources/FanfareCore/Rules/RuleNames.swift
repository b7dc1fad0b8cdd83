/// The forms of names, the same as in SQL: `fanfare.is_app_name`, `is_rule_name`, `is_label` and `is_event_type`.
public enum RuleNames {
    /// The maximum length of an event type in bytes.
    public static let eventTypeLimit = 255
    /// The form of an app's name, for hints.
    package static let appHint = "use 1 to 64 letters, digits, \"_\" and \"-\", beginning with a letter or digit"
    /// The form of a rule's name, for hints.
    package static let ruleHint =
        "use 1 to 100 letters, digits, \"_\", \".\" and \"-\", beginning with a letter or digit"
    /// The form of a category, for hints.
    package static let labelHint =
        "use 1 to 64 letters, digits, \"_\", \".\" and \"-\", beginning with a letter or digit"
    /// The form of an event's type, for hints.
    static let eventTypeHint = "use 1 to \(eventTypeLimit) bytes on one line, such as order.shipped"

    /// Returns whether a text is an app's name.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether it is 1 to 64 ASCII letters, digits, `_` and `-`, starting with a letter or digit.
    public static func isApp(_ text: String) -> Bool { isWord(text, limit: 64, besides: "_-") }

    /// Returns whether a text is a rule's name.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether it is 1 to 100 ASCII letters, digits, `_`, `.` and `-`, starting with a letter or digit.
    public static func isRule(_ text: String) -> Bool { isWord(text, limit: 100, besides: "_.-") }

    /// Returns whether a text is a category.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether it is 1 to 64 ASCII letters, digits, `_`, `.` and `-`, starting with a letter or digit.
    public static func isLabel(_ text: String) -> Bool { isWord(text, limit: 64, besides: "_.-") }

    /// Returns the name of a campaign's rule, which contains "/", so that no other rule can have it.
    ///
    /// - Parameter name: the campaign's name.
    /// - Returns: a name for which ``isOfCampaign(_:)`` holds.
    public static func ofCampaign(_ name: String) -> String { campaignPrefix + name }

    /// Returns whether a rule belongs to a campaign: the rule of ``ofCampaign(_:)``, or the one for tests of the
    /// campaign.
    ///
    /// - Parameter text: the rule's name.
    /// - Returns: whether it has one of the two prefixes, followed by a valid name.
    public static func isOfCampaign(_ text: String) -> Bool {
        [campaignPrefix, testPrefix].contains { text.hasPrefix($0) && isRule(String(text.dropFirst($0.count))) }
    }

    /// Returns the name that seeds the assignment to variants: the rule's own, or the campaign's for the rule of its
    /// tests.
    ///
    /// - Parameter name: the rule's name.
    /// - Returns: the name for the seed.
    package static func divided(_ name: String) -> String {
        name.hasPrefix(testPrefix) ? ofCampaign(String(name.dropFirst(testPrefix.count))) : name
    }

    /// Returns whether a rule holds the shape of messages that are sent without a rule.
    ///
    /// - Parameter text: the rule's name.
    /// - Returns: whether it is `send/` with the name of a shape.
    public static func isOfSend(_ text: String) -> Bool {
        text.hasPrefix(sendPrefix) && isRule(String(text.dropFirst(sendPrefix.count)))
    }

    private static let sendPrefix = "send/"
    private static let campaignPrefix = "campaign/"
    private static let testPrefix = "campaign-test/"

    /// Returns whether a text is a valid event type.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether it is 1 to ``eventTypeLimit`` bytes without control characters and characters that change the
    ///   direction of text.
    public static func isEventType(_ text: String) -> Bool {
        (1...eventTypeLimit).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
    }

    /// Returns whether a text is a pattern of event types: a type, `shop.*` for all types with the prefix `shop.`, or
    /// `*` for all.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether ``isEventType(_:)`` holds, and a `*` occurs only after a name and a dot, or alone.
    package static func isEventPattern(_ text: String) -> Bool {
        if text == "*" { return true }
        let name = text.hasSuffix(".*") ? text.dropLast(2) : text[...]
        return isEventType(text) && !name.isEmpty && !name.utf8.contains(UInt8(ascii: "*"))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.properties.isBidiControl
    }

    private static func isWord(_ text: String, limit: Int, besides others: StaticString) -> Bool {
        guard let first = text.utf8.first, isAlphanumeric(first), text.utf8.count <= limit else { return false }
        let others = others.description.utf8
        return text.utf8.allSatisfy { isAlphanumeric($0) || others.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
