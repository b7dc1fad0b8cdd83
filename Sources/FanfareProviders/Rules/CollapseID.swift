internal import FanfareCore

/// The limits of a rule's `collapse`: those of APNs apply to all providers, so that every rule works on every provider.
package enum CollapseID {
    /// The maximum length in bytes.
    package static var limit: Int { RuleDefinition.collapseLimit }

    /// Returns the id in the form that is sent.
    ///
    /// - Parameters:
    ///   - id: the text rendered from the rule's template.
    ///   - app: the app.
    /// - Returns: the id, or a hash of it if a provider could not accept it; nil if it is empty, which means no id.
    package static func sent(_ id: String, app: String) -> String? {
        if id.isEmpty { return nil }
        return fault(in: id) == nil ? id : WebPushTopic.hash(collapse: id, app: app)
    }

    /// A collapse id as it was sent.
    package struct Sent: Equatable, Sendable {
        /// The id for APNs and FCM.
        package let id: String
        /// The topic for Web Push.
        package let topic: String
    }

    /// Returns why a collapse id cannot be sent.
    ///
    /// - Parameter id: the id.
    /// - Returns: a reason without the id; nil if it can be sent.
    package static func fault(in id: String) -> String? { HeaderText.fault(in: id) ?? tooLong(id) }

    /// Returns why a literal part makes an id invalid, independent of the rest of the id.
    package static func fault(inPart part: String) -> String? { HeaderText.fault(inPart: part) ?? tooLong(part) }

    private static func tooLong(_ text: String) -> String? {
        text.utf8.count > limit ? "has more than \(limit) bytes" : nil
    }
}

/// The allowed value of a header: printable ASCII without surrounding spaces (RFC 9110 section 5.5).
package enum HeaderText {
    /// Returns why a value cannot be sent in a header.
    ///
    /// - Parameter value: the value.
    /// - Returns: a reason without the value; nil if it can be sent.
    package static func fault(in value: String) -> String? {
        if value.isEmpty { return "is empty" }
        if let reason = fault(inPart: value) { return reason }
        let hasOuterSpace = value.utf8.first == 0x20 || value.utf8.last == 0x20
        return hasOuterSpace ? "begins or ends with a space" : nil
    }

    /// Returns why a literal part makes a value invalid, independent of the rest of the value.
    package static func fault(inPart part: String) -> String? {
        part.utf8.contains { $0 < 0x20 || $0 > 0x7E } ? "has other than printable ASCII characters" : nil
    }
}
