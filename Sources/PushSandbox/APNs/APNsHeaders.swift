import NIOHPACK

/// The headers that APNs reads, found in one pass.
struct APNsHeaders {
    private(set) var authorization: String?
    private(set) var id: String?
    private(set) var topic: String?
    private(set) var pushType: String?
    private(set) var priority: String?
    private(set) var expiration: String?
    private(set) var collapseID: String?
    /// Whether one of them, or another `apns-…` header, is repeated.
    private(set) var hasDuplicates = false

    init(_ headers: HPACKHeaders) {
        var others: Set<String> = []
        for (name, value, _) in headers {
            switch name {
            case "authorization": set(\.authorization, value)
            case "apns-id": set(\.id, value)
            case "apns-topic": set(\.topic, value)
            case "apns-push-type": set(\.pushType, value)
            case "apns-priority": set(\.priority, value)
            case "apns-expiration": set(\.expiration, value)
            case "apns-collapse-id": set(\.collapseID, value)
            default:
                if name.hasPrefix("apns-"), !others.insert(name).inserted {
                    hasDuplicates = true
                }
            }
        }
    }

    private mutating func set(_ field: WritableKeyPath<APNsHeaders, String?>, _ value: String) {
        if self[keyPath: field] != nil {
            hasDuplicates = true
        }
        self[keyPath: field] = value
    }
}
