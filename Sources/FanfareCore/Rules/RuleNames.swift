/// What may be called how: the same as in SQL, by `fanfare.is_app_name`, `is_rule_name`, `is_label` and `is_event_type`.
public enum RuleNames {
    /// The longest event type, in bytes.
    public static let eventTypeLimit = 255
    /// What an app may be called, for hints.
    package static let appHint = "use 1 to 64 letters, digits, \"_\" and \"-\", beginning with a letter or digit"
    /// What a rule may be called, for hints.
    package static let ruleHint =
        "use 1 to 100 letters, digits, \"_\", \".\" and \"-\", beginning with a letter or digit"
    /// What a category may be called, for hints.
    package static let labelHint =
        "use 1 to 64 letters, digits, \"_\", \".\" and \"-\", beginning with a letter or digit"
    /// What an event's type may be, for hints.
    static let eventTypeHint = "use 1 to \(eventTypeLimit) bytes on one line, such as order.shipped"

    /// Whether an app may be called so.
    ///
    /// - Parameter text: what was written.
    /// - Returns: whether it is 1 to 64 ASCII letters, digits, `_` and `-`, of which the first is a letter or digit.
    public static func isApp(_ text: String) -> Bool { isWord(text, limit: 64, besides: "_-") }

    /// Whether a rule may be called so.
    ///
    /// - Parameter text: what was written.
    /// - Returns: whether it is 1 to 100 ASCII letters, digits, `_`, `.` and `-`, of which the first is a letter or digit.
    public static func isRule(_ text: String) -> Bool { isWord(text, limit: 100, besides: "_.-") }

    /// Whether a category may be called so.
    ///
    /// - Parameter text: what was written.
    /// - Returns: whether it is 1 to 64 ASCII letters, digits, `_`, `.` and `-`, of which the first is a letter or digit.
    public static func isLabel(_ text: String) -> Bool { isWord(text, limit: 64, besides: "_.-") }

    /// What the rule of a campaign is called; no rule that somebody wrote can be, for "/" is in none of their names.
    ///
    /// - Parameter name: the campaign's.
    /// - Returns: a name for which ``isOfCampaign(_:)`` holds.
    public static func ofCampaign(_ name: String) -> String { campaignPrefix + name }

    /// Whether a rule is a campaign's: the one that ``ofCampaign(_:)`` names, or the one that tests it.
    ///
    /// - Parameter text: its name.
    /// - Returns: whether it begins so, and a campaign can be called like the rest.
    public static func isOfCampaign(_ text: String) -> Bool {
        [campaignPrefix, testPrefix].contains { text.hasPrefix($0) && isRule(String(text.dropFirst($0.count))) }
    }

    /// By which name a rule divides people: its own, and for the one that tests a campaign the campaign's.
    ///
    /// - Parameter name: the rule's.
    /// - Returns: the name.
    package static func divided(_ name: String) -> String {
        name.hasPrefix(testPrefix) ? ofCampaign(String(name.dropFirst(testPrefix.count))) : name
    }

    private static let campaignPrefix = "campaign/"
    private static let testPrefix = "campaign-test/"

    /// Whether a rule can name events of this type.
    ///
    /// - Parameter text: what was written.
    /// - Returns: whether it is 1 to ``eventTypeLimit`` bytes without control characters and characters that change the direction of text.
    public static func isEventType(_ text: String) -> Bool {
        (1...eventTypeLimit).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
    }

    /// Whether it stands for types of events that rules can name: one, `shop.*` for all that begin with `shop.`, or `*` for all.
    ///
    /// - Parameter text: what was written.
    /// - Returns: whether it is ``isEventType(_:)``, and has a `*` only behind a name and a dot, or alone.
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
