internal import FanfareCore

/// What a rule's `collapse` may be: what APNs takes holds for all, so that a rule does not work on one provider only.
package enum CollapseID {
    /// The most bytes.
    package static let limit = 64

    /// The id as it is sent.
    ///
    /// - Parameters:
    ///   - id: what the rule's template gave.
    ///   - app: the app.
    /// - Returns: the id, or a hash of it where a provider could not take it; nil if it is empty, which is none.
    package static func sent(_ id: String, app: String) -> String? {
        if id.isEmpty { return nil }
        return fault(in: id) == nil ? id : WebPushTopic.hash(collapse: id, app: app)
    }

    /// What keeps a collapse id from being sent.
    ///
    /// - Parameter id: the id.
    /// - Returns: a reason without the id; nil if it can be sent.
    package static func fault(in id: String) -> String? { HeaderText.fault(in: id) ?? tooLong(id) }

    /// What keeps an id from being sent, whatever stands around a part of it.
    package static func fault(inPart part: String) -> String? { HeaderText.fault(inPart: part) ?? tooLong(part) }

    private static func tooLong(_ text: String) -> String? {
        text.utf8.count > limit ? "has more than \(limit) bytes" : nil
    }
}

/// What a header's value may be: printable ASCII, without spaces around it (RFC 9110 section 5.5).
package enum HeaderText {
    /// What keeps a value from being sent in a header.
    ///
    /// - Parameter value: the value.
    /// - Returns: a reason without the value; nil if it can be sent.
    package static func fault(in value: String) -> String? {
        if value.isEmpty { return "is empty" }
        if let reason = fault(inPart: value) { return reason }
        let hasOuterSpace = value.utf8.first == 0x20 || value.utf8.last == 0x20
        return hasOuterSpace ? "begins or ends with a space" : nil
    }

    /// What keeps a value from being sent, whatever stands around a part of it.
    package static func fault(inPart part: String) -> String? {
        part.utf8.contains { $0 < 0x20 || $0 > 0x7E } ? "has other than printable ASCII characters" : nil
    }
}
