public import FanfareCore

/// The header field that carries the identity of one delivery, where the provider has one; the raw value is its name.
///
/// FCM has none. A Web Push message has it only where the rule sets neither `collapse` nor a `Topic` of its own.
public enum DeliveryHeader: String, CaseIterable, Sendable {
    /// APNs: a UUID that APNs gives back.
    case apnsID = "apns-id"
    /// APNs broadcast: a UUID that APNs gives back.
    case apnsRequestID = "apns-request-id"
    /// Web Push: a repeat with the same topic replaces what is still pending, so itself.
    case topic

    /// The field's value for a delivery, equal on every retry.
    ///
    /// - Parameter id: the delivery.
    /// - Returns: a UUID, or for ``topic`` its 32 hexadecimal digits.
    public func value(_ id: DeliveryID) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(DeliveryID.textLength)
        id.appendText(to: &text)
        guard self == .topic else { return text }
        return text.filter { $0 != UInt8(ascii: "-") }
    }
}
