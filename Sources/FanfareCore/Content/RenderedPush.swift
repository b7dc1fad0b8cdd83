/// What is sent to every device of a variant, but for what identifies one delivery.
public struct RenderedPush: Sendable {
    /// The provider's headers, without authorization and `apns-id`; names in lower case, values printable ASCII.
    public let headers: [(name: String, value: String)]
    /// The payload.
    public let body: [UInt8]

    /// The value of a header.
    ///
    /// - Parameter name: its name, in lower case.
    public subscript(header name: String) -> String? { headers.first { $0.name == name }?.value }
}
