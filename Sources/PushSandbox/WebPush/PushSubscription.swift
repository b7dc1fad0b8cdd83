import Foundation

/// A simulated browser's subscription, in the JSON form of the W3C Push API.
public struct PushSubscription: Codable, Sendable, Equatable {
    /// The keys that a message to the browser is encrypted with.
    public struct Keys: Codable, Sendable, Equatable {
        /// The browser's P-256 public key, an uncompressed point in unpadded base64url.
        public let p256dh: String
        /// The authentication secret, 16 bytes in unpadded base64url.
        public let auth: String
    }

    /// The URL of the push resource.
    public let endpoint: String
    /// The browser's keys.
    public let keys: Keys
}

/// The VAPID key that a simulated subscription is restricted to.
public enum ApplicationServerKey: Sendable, Equatable {
    /// The sandbox's own key, in the folder's `vapid.pem`.
    case sandbox
    /// Another key: the uncompressed public key in unpadded base64url.
    case key(String)
    /// None: anyone with the endpoint may send.
    case none
}

/// Creates subscriptions; the same name gives the same one while the sandbox's folder exists.
struct SubscriptionMaker: Sendable {
    let subscribers: Subscribers
    /// Scheme, host and port of the endpoints.
    let origin: String

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - name: the name: 1 to 200 characters of the base64url alphabet.
    ///   - service: the push service of the endpoint.
    ///   - key: the VAPID key that may send.
    /// - Returns: the subscription.
    /// - Throws: `SandboxError` if name or key are malformed.
    func subscription(
        _ name: String,
        _ service: WebPushService,
        _ key: ApplicationServerKey
    ) throws(SandboxError) -> PushSubscription {
        guard WebPushEndpoint.isName(name) else {
            throw SandboxError(.invalidOption, "name: must be 1 to 200 letters, digits, - or _")
        }
        let path = WebPushEndpoint.path(service, name: name, restriction: try Self.restriction(key))
        guard let subscriber = subscribers.subscriber(at: path) else {
            throw SandboxError(.invalidOption, "name: no key can be derived from it; choose another")
        }
        return PushSubscription(
            endpoint: origin + path,
            keys: PushSubscription.Keys(
                p256dh: subscriber.publicKey.base64URL,
                auth: subscriber.auth.base64URL
            )
        )
    }

    private static func restriction(_ key: ApplicationServerKey) throws(SandboxError) -> WebPushEndpoint.Restriction {
        switch key {
        case .sandbox: return .own
        case .none: return .open
        case .key(let text):
            guard let bytes = Data(base64URL: text[...]), bytes.count == 65, bytes.first == 4 else {
                throw SandboxError(
                    .invalidOption,
                    "application_server_key: must be an uncompressed P-256 public key in unpadded base64url"
                )
            }
            return .key(VAPIDCredential.fingerprint(of: bytes))
        }
    }
}
