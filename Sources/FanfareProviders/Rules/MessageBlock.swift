internal import FanfareCore

/// The block of a message for one provider, in addition to the fields of FCM's Message.
package struct MessageBlock: Sendable {
    /// The key of the block in the message.
    let key: String
    /// The allowed content.
    let field: MessageField
    /// The meaning of each key, by its path in the message.
    let meanings: [String: String]

    /// The keys as a Markdown list, in the format of ``RuleDefinition/reference``.
    package var reference: String {
        field.fields(at: key).map { place, field in
            KeyDescription("message.\(place)", field.typeName, range: field.rangeText, meanings[place] ?? "").reference
        }
        .joined(separator: "\n")
    }
}
