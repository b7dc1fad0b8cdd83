/// The bytes of a request body that many requests share; immutable.
///
/// Where bodies differ in one place only (FCM's device token), the shared bytes are a prefix and a suffix, and each
/// request has the bytes between them. A payload is therefore held once per event and not once per device.
public final class PushBody: Sendable {
    /// The bytes before ``PushRequest/insertion``.
    public let prefix: [UInt8]

    /// The bytes after ``PushRequest/insertion``.
    public let suffix: [UInt8]

    /// Creates a body.
    ///
    /// - Parameters:
    ///   - prefix: the whole body, or the bytes before the insertion.
    ///   - suffix: the bytes after the insertion.
    public init(_ prefix: [UInt8], suffix: [UInt8] = []) {
        self.prefix = prefix
        self.suffix = suffix
    }
}
