public import FanfareCore

/// The header field with the identity of one delivery, if a provider has one.
///
/// APNs and webhooks have one, FCM has none. A Web Push message has it only if the rule sets neither `collapse` nor a
/// `Topic`.
public struct DeliveryHeader: Hashable, Sendable {
    /// The field's name, in lower case.
    public let name: String
    /// Whether the value is a UUID with hyphens; otherwise it is its 32 hexadecimal digits.
    public let hasHyphens: Bool

    /// Makes a field.
    ///
    /// - Parameters:
    ///   - name: the name, in lower case.
    ///   - hasHyphens: whether the value has the hyphens of a UUID.
    package init(_ name: String, hasHyphens: Bool = true) {
        (self.name, self.hasHyphens) = (name, hasHyphens)
    }

    /// Returns the field's value for a delivery, the same for every retry.
    ///
    /// - Parameter id: the delivery.
    /// - Returns: a UUID, or its 32 hexadecimal digits.
    public func value(_ id: DeliveryID) -> [UInt8] {
        let text = id.textBytes
        return hasHyphens ? text : text.filter { $0 != UInt8(ascii: "-") }
    }
}
