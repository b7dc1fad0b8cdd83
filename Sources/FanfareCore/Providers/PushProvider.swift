/// A service that takes pushes for devices; the raw value is the name in configuration, SQL and logs.
public enum PushProvider: String, CaseIterable, Sendable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging, HTTP v1.
    case fcm
    /// Web Push (RFC 8030).
    case webpush
}
