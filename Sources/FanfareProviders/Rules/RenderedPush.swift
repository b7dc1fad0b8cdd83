public import FanfareCore

/// What is sent to every device of a variant, but for what identifies one delivery.
public struct RenderedPush: Sendable {
    /// The provider's headers, without authorization, ``deliveryHeader`` and what belongs to the body's encoding; names in
    /// lower case, values printable ASCII.
    public let headers: [(name: String, value: String)]
    /// The payload; for Web Push before it is encrypted, for FCM up to ``FCMTarget/insertion``.
    public let body: [UInt8]
    /// For FCM what follows the insertion; else empty.
    public let bodySuffix: [UInt8]
    /// The header that each delivery fills with its own identity; nil if there is none.
    public let deliveryHeader: DeliveryHeader?
    /// When it ends by what the message itself gives for the provider (wall clock).
    ///
    /// That is `apns-expiration`, or `TTL` or `android.ttl` after the event's creation, or ``Deadline/nowOrNever`` after it
    /// where the provider is to store nothing. Nil if only the `ttl` of event and rule gives an end, or nothing does.
    public let endsAt: Microseconds?

    /// Whether the rule named an APNs topic other than the app's.
    package var hasOwnTopic = false

    /// The value of a header.
    ///
    /// - Parameter name: its name, in lower case.
    public subscript(header name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The APNs topic; nil at other providers.
    public var topic: String? { self[header: APNsHeaders.topic] }

    /// The headers as one Web Push service wants them.
    ///
    /// - Parameter host: the endpoint's host, in lower case.
    /// - Returns: ``headers``; for WNS, whose default cache policy contradicts a `TTL` of 0, with the policy that fits.
    public func headers(forHost host: String) -> [(name: String, value: String)] {
        guard host.hasSuffix(".notify.windows.com"), let timeToLive = self[header: WebPushHeaders.timeToLive] else {
            return headers
        }
        return headers + [("x-wns-cache-policy", timeToLive == "0" ? "no-cache" : "cache")]
    }
}

extension RenderContext {
    /// When a push ends whose message gives the provider some seconds.
    ///
    /// - Parameter seconds: how long it may be stored; 0 for not at all, which leaves the time for retries to the `ttl` of
    ///   event and rule where there is one.
    /// - Returns: microseconds since 1970; nil if nothing follows from it.
    func end(ofLifetime seconds: Int64) -> Microseconds? {
        guard let time else { return nil }
        if seconds > 0 { return time.addingClamping(seconds).multipliedClamping(by: Micros.second) }
        guard expiration == nil else { return nil }
        return time.multipliedClamping(by: Micros.second).addingClamping(Deadline.nowOrNever)
    }
}
