internal import FanfareCore

/// The audience of a rule or a campaign, as its author wrote it.
enum AudienceText {
    private static let kinds = [
        ("users", "users"), ("tokens", "tokens"), ("topic", "topic"), ("condition", "topics"),
        ("fcm_topic", "FCM topic"), ("fcm_condition", "FCM topics"), ("channel", "channel"),
    ]

    /// Describes an audience in a few words.
    ///
    /// - Parameter definition: the definition of the rule or the campaign.
    /// - Returns: text such as `topic winter, apns only`.
    static func words(_ definition: JSONValue) -> String {
        let to = definition["to"]
        var words = "–"
        for (key, word) in kinds {
            if let value = to?[key]?.stringValue { words = "\(word) \(value)" }
        }
        if to?["everyone"]?.boolValue == true { words = "everyone" }
        if to?["users_sql"] != nil || definition["audience_sql"] != nil { words = "by query" }
        if definition["payload_sql"] != nil { words += ", for each row of a query" }
        if let provider = to?["provider"]?.stringValue { words += ", \(provider) only" }
        if let permissions = shown(to?["permission"], by: " or ") { words += ", permission \(permissions)" }
        if let presents = shown(to?["presents"], by: " and ") { words += ", presenting \(presents)" }
        if let devices = to?["devices"]?.stringValue { words += ", where \(devices)" }
        return words
    }

    /// Shows a filter that is one word or a list of words.
    private static func shown(_ filter: JSONValue?, by separator: String) -> String? {
        filter.map { ($0.arrayValue ?? [$0]).compactMap(\.stringValue).joined(separator: separator) }
    }
}
