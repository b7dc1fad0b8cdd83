/// A push service.
public enum Platform: String, CaseIterable, Sendable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging, HTTP v1.
    case fcm
    /// Web Push (RFC 8030).
    case webpush

    /// The platforms that this version sends to.
    public static let supported: [Platform] = [.apns]
}
