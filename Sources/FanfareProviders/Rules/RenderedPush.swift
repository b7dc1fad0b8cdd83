public import FanfareCore

/// The request that all devices of a variant share, without the parts that identify one delivery.
public struct RenderedPush: Sendable {
    /// The provider's headers, without authorization, ``deliveryHeader`` and the headers of the body's encoding; names
    /// in lower case, values printable ASCII.
    public let headers: [(name: String, value: String)]
    /// The payload; for Web Push before encryption, for FCM up to ``FCMTarget/insertion``.
    public let body: [UInt8]
    /// For FCM the part after the insertion; otherwise empty.
    public let bodySuffix: [UInt8]
    /// The header that holds the identity of each delivery; nil if there is none.
    public let deliveryHeader: DeliveryHeader?
    /// The end that the message itself sets for the provider (wall clock).
    ///
    /// It is `apns-expiration`, or `TTL` or `android.ttl` after the event's creation, or ``Deadline/nowOrNever`` after
    /// it if the provider is to store nothing. Nil if only the `ttl` of event and rule sets an end, or nothing does.
    public let endsAt: Microseconds?

    /// Whether the rule names an APNs topic other than the app's.
    package var hasOwnTopic = false

    /// Whether the push carries the token of a Live Activity beside that of the device.
    package var isForActivity = false

    /// The value of a header.
    ///
    /// - Parameter name: its name, in lower case.
    public subscript(header name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The APNs topic; nil for other providers.
    public var topic: String? { self[header: APNsHeaders.topic] }

    /// Returns the headers for a Web Push service.
    ///
    /// - Parameter host: the endpoint's host, in lower case.
    /// - Returns: ``headers``; for WNS, whose default cache policy contradicts a `TTL` of 0, with a matching policy.
    public func headers(forHost host: String) -> [(name: String, value: String)] {
        guard host.hasSuffix(".notify.windows.com"), let timeToLive = self[header: WebPushHeaders.timeToLive] else {
            return headers
        }
        return headers + [("x-wns-cache-policy", timeToLive == "0" ? "no-cache" : "cache")]
    }
}

extension RenderContext {
    /// Returns the end of a push whose message sets a lifetime for the provider.
    ///
    /// - Parameter seconds: how long the provider may store it; 0 for not at all, and then the `ttl` of event and rule
    ///   limits retries, if there is one.
    /// - Returns: microseconds since 1970; nil if the lifetime implies no end.
    func end(ofLifetime seconds: Int64) -> Microseconds? {
        guard let time else { return nil }
        if seconds > 0 { return time.addingClamping(seconds).multipliedClamping(by: Micros.second) }
        guard expiration == nil else { return nil }
        return time.multipliedClamping(by: Micros.second).addingClamping(Deadline.nowOrNever)
    }
}
