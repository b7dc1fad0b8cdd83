package import FanfareCore
package import PushTransport

/// The properties of a device that determine its address.
package struct Recipient {
    /// The token, or the URL in its place.
    package let token: String
    /// The public key, if it has one.
    package let p256dh: String?
    /// The secret, if it has one.
    package let auth: String?
    /// Whether the token is a Firebase installation id.
    package let isInstallation: Bool

    /// Makes a recipient from the columns of the database.
    package init(token: String, p256dh: String?, auth: String?, isInstallation: Bool = false) {
        (self.token, self.p256dh, self.auth) = (token, p256dh, auth)
        self.isInstallation = isInstallation
    }
}

/// A defect of a device's token or key that makes every push to the device fail.
package struct RecipientError: Equatable, Sendable {
    /// The part of a device that can have a defect.
    package enum Field: String, Sendable {
        case token
        case p256dh
    }

    /// The part that has the defect.
    package let field: Field
    /// Describes the defect, and follows the field's name in a message.
    ///
    /// Contains no token and no key.
    package let reason: String
    /// Says what to pass instead.
    package let hint: String

    init(_ field: Field, _ reason: String, hint: String) {
        (self.field, self.reason, self.hint) = (field, reason, hint)
    }
}

extension Recipient {
    /// Checks a token that must be a URL.
    ///
    /// - Parameter hint: the hint for a host below `.invalid`.
    /// - Returns: the defect; nil for a usable URL, and for a token that the database itself rejects.
    func urlError(ofNowhere hint: String) -> RecipientError? {
        guard token.lowercased().hasPrefix("https://") else { return nil }
        do throws(EndpointError) {
            guard try HTTPSURL(token).origin.isNowhere else { return nil }
            return RecipientError(.token, "names a host below .invalid, which never exists", hint: hint)
        } catch {
            return RecipientError(.token, "is not a URL that can be sent to", hint: "\(error)")
        }
    }
}

/// The identity of an app at one provider.
package struct ProviderIdentity: Sendable {
    /// The topic of its pushes, if the provider has topics.
    package let topic: String
    /// The path of its requests, if all have the same.
    package let path: [UInt8]
    /// Whether the app asks for the provider's coming form of messages.
    package let asksForPreview: Bool

    /// Makes an identity.
    package init(topic: String = "", path: [UInt8] = [], asksForPreview: Bool = false) {
        (self.topic, self.path, self.asksForPreview) = (topic, path, asksForPreview)
    }
}

/// The data of one recipient that its requests need: keys, a secret.
package protocol RecipientKeys: Sendable {}

/// The address of a delivery's request; holds the token.
package enum PushAddress: Sendable {
    /// A path at the provider's only endpoint, and the text to insert into the shared body.
    case shared(path: [UInt8], insertion: [UInt8])
    /// The recipient's own URL.
    ///
    /// Indirect, because otherwise every copy of a delivery would test which case it holds.
    indirect case url(HTTPSURL, any RecipientKeys)

    /// The endpoint, for a provider with many; otherwise nil.
    package var origin: Endpoint? {
        if case .url(let url, _) = self { return url.origin }
        return nil
    }

    /// The scope that a breaker holds back if requests to the address fail.
    package var scope: BreakerScope { origin.map(BreakerScope.origin) ?? .provider }
}

/// The scope that a breaker holds back.
package enum BreakerScope: Hashable, Sendable {
    /// All requests to a provider with one endpoint.
    case provider
    /// The requests to one of many endpoints.
    case origin(Endpoint)
    /// The requests to one device, at an endpoint shared by many.
    case device(Int64)
    /// The requests for a topic that the provider refused.
    case topic(String)
}

/// One delivery to send.
package struct PreparedDelivery: Sendable {
    /// The position in the batch.
    package let position: Int32
    /// The index of its variant in the batch.
    package let variant: Int32
    /// The token, for evidence and log hashes; never logged itself.
    package let token: String
    /// The address.
    package let address: PushAddress
    /// The value of the delivery header, the same for every retry; empty if there is none.
    package let deliveryID: [UInt8]
    /// The device's `registered_at`, in microseconds since 1970; 0 without a device.
    package let registeredAt: Int64
    /// The device's user, for log hashes; nil without a user or a device.
    package let user: String?
    /// The rule whose push made the provider report a bad token, while it is unknown whether the token was at fault.
    package let doubtedBy: Int32?
    /// Whether the token is a Firebase installation id.
    package let isInstallation: Bool

    /// Makes a delivery.
    package init(
        position: Int32,
        variant: Int32,
        token: String,
        address: PushAddress,
        deliveryID: [UInt8],
        registeredAt: Int64,
        user: String? = nil,
        doubtedBy: Int32? = nil,
        isInstallation: Bool = false
    ) {
        (self.position, self.variant, self.token) = (position, variant, token)
        (self.address, self.deliveryID, self.registeredAt) = (address, deliveryID, registeredAt)
        (self.user, self.doubtedBy, self.isInstallation) = (user, doubtedBy, isInstallation)
    }
}

/// The content that all devices of a variant share; immutable.
///
/// A class, because each delivery's request is written from it, and a copy of its parts would count many references.
package final class PushContent: Sendable {
    /// The rendered push.
    package let push: RenderedPush
    /// The shared part of the body, ready to be sent; for encrypted bodies, the plaintext.
    package let body: PushBody
    /// The trace of the event; sent to recipients whose owner may know it (webhooks), never to a push service.
    package let trace: TraceContext?

    /// Makes the content of a rendered push.
    package init(_ push: RenderedPush, trace: TraceContext? = nil) {
        (self.push, self.trace) = (push, trace)
        body = PushBody(push.body, suffix: push.bodySuffix)
    }
}
