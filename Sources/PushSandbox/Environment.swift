/// The environment of APNs that a request is for; a device token belongs to exactly one.
enum Environment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
