/// The bytes of a request body that many requests share, made once and never changed.
///
/// Where bodies differ only in one place (FCM's device token), the shared bytes are a prefix and a suffix, and the
/// request brings what goes between them, so that a payload is held once per event and not once per device.
public final class PushBody: Sendable {
    /// What comes first.
    public let prefix: [UInt8]

    /// What comes after ``PushRequest/insertion``.
    public let suffix: [UInt8]

    /// Makes a body.
    ///
    /// - Parameters:
    ///   - prefix: the whole body, or what comes before the insertion.
    ///   - suffix: what comes after the insertion.
    public init(_ prefix: [UInt8], suffix: [UInt8] = []) {
        self.prefix = prefix
        self.suffix = suffix
    }
}
