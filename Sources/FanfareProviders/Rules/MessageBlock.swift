internal import FanfareCore

/// What a message may have for one provider alone, beside the fields of FCM's Message.
package struct MessageBlock: Sendable {
    /// Its key in the message.
    let key: String
    /// What it may hold.
    let field: MessageField
    /// What each key means, by its path in the message.
    let meanings: [String: String]

    /// The keys as a Markdown list, as ``RuleDefinition/reference`` has them.
    package var reference: String {
        field.fields(at: key).map { place, field in
            RuleKey("message.\(place)", field.typeName, range: field.rangeText, meanings[place] ?? "").reference
        }
        .joined(separator: "\n")
    }
}
