import NIOHPACK

/// The headers that push services read, found in one pass.
struct WebPushHeaders {
    private(set) var authorization: String?
    private(set) var ttl: String?
    /// All values; one is allowed.
    private(set) var urgencies: [String] = []
    private(set) var topics: [String] = []
    private(set) var encodings: [String] = []
    /// Whether there is a header of the old draft coding `aesgcm`.
    private(set) var hasDraftEncryption = false
    private(set) var cachePolicy: String?
    private(set) var prefersReceipt = false

    init(_ headers: HPACKHeaders) {
        for (name, value, _) in headers {
            switch name {
            case "authorization": authorization = value
            case "ttl": ttl = ttl == nil ? value : ""
            case "urgency": urgencies.append(value)
            case "topic": topics.append(value)
            case "content-encoding": encodings.append(value)
            case "encryption": hasDraftEncryption = hasDraftEncryption || value.contains("salt=")
            case "crypto-key": hasDraftEncryption = hasDraftEncryption || value.contains("dh=")
            case "x-wns-cache-policy": cachePolicy = value.lowercased()
            case "prefer": prefersReceipt = prefersReceipt || value.contains("respond-async")
            default: break
            }
        }
    }

    /// Checks TTL, Urgency and Topic, in this order (RFC 8030 section 5).
    ///
    /// - Parameters:
    ///   - service: the push service.
    ///   - isHome: whether the host is the service's own: only then can a client know that it is WNS, which requires a
    ///     policy.
    /// - Returns: the first rejection; nil if there is none.
    func failure(for service: WebPushService, isHome: Bool) -> WebPushRejection? {
        guard let ttl else { return .missingTTL }
        guard Self.seconds(ttl) != nil else {
            // Mozilla reports a number below 0 as invalid, and anything else as missing.
            return service == .mozilla && Int(ttl) == nil ? .missingTTL : .badTTL
        }
        if service == .wns, Self.seconds(ttl) == 0, cachePolicy ?? (isHome ? "cache" : "no-cache") != "no-cache" {
            return .badCachePolicy
        }
        guard urgencies.count <= 1, urgencies.allSatisfy(Self.known.contains) else { return .badUrgency }
        guard topics.count <= 1, topics.allSatisfy({ Self.isTopic($0, service) }) else { return .badTopic }
        return nil
    }

    /// Returns the seconds of a TTL header; nil if it is malformed.
    ///
    /// Values above 2^31 count as 2^31.
    static func seconds(_ ttl: String) -> Int? {
        guard !ttl.isEmpty, ttl.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(ttl) ?? .max, 1 << 31)
    }

    private static let known: Set<String> = ["very-low", "low", "normal", "high"]

    private static func isTopic(_ text: String, _ service: WebPushService) -> Bool {
        let topic = service == .mozilla ? text.replacing("=", with: "") : text
        // Apple decodes the topic.
        let isDecodable = service != .apple || topic.utf8.count % 4 != 1
        return (1...32).contains(topic.utf8.count) && isDecodable && topic.utf8.allSatisfy(WebPushEndpoint.isBase64URL)
    }
}
