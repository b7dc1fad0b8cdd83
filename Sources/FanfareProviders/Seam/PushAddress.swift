package import FanfareCore
package import PushTransport

/// A device as far as it says where it is reached.
package struct Recipient {
    /// Its token, or the URL that stands for one.
    package let token: String
    /// Its public key, if it has one.
    package let p256dh: String?
    /// Its secret, if it has one.
    package let auth: String?

    /// Takes what the database has.
    package init(token: String, p256dh: String?, auth: String?) {
        (self.token, self.p256dh, self.auth) = (token, p256dh, auth)
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

/// What an app is called at one provider.
package struct ProviderIdentity: Sendable {
    /// The topic of its pushes, where the provider has topics.
    package let topic: String
    /// The path of its requests, where all have the same.
    package let path: [UInt8]

    /// Names an app.
    package init(topic: String = "", path: [UInt8] = []) {
        (self.topic, self.path) = (topic, path)
    }
}

/// What a request needs of one recipient alone to be written: keys, a secret.
package protocol RecipientKeys: Sendable {}

/// Where a delivery's request goes; holds the token.
package enum PushAddress: Sendable {
    /// The provider's one endpoint: the path, and what is inserted into the shared body.
    case shared(path: [UInt8], insertion: [UInt8])
    /// A URL of the recipient's own.
    ///
    /// Behind a reference, or every copy of a delivery would ask which of the two it holds.
    indirect case url(HTTPSURL, any RecipientKeys)

    /// The endpoint of a provider that has many; else nil.
    package var origin: Endpoint? {
        if case .url(let url, _) = self { return url.origin }
        return nil
    }

    /// What stops when the provider cannot be sent to.
    package var scope: BreakerScope { origin.map(BreakerScope.origin) ?? .provider }
}

/// What a breaker holds back.
package enum BreakerScope: Hashable, Sendable {
    /// All that goes to a provider with one endpoint.
    case provider
    /// What goes to one of many endpoints.
    case origin(Endpoint)
    /// What goes to one device, at an endpoint that many share.
    case device(Int64)
    /// What is for a topic that the provider refused.
    case topic(String)
}

/// One delivery that is to be sent.
package struct PreparedDelivery: Sendable {
    /// Where it stands in the batch.
    package let position: Int32
    /// Which of the batch's variants it gets.
    package let variant: Int32
    /// Kept for evidence and log hashes; never logged itself.
    package let token: String
    /// Where it goes.
    package let address: PushAddress
    /// The value of the delivery header, equal on every retry; empty if there is none.
    package let deliveryID: [UInt8]
    /// The device's `registered_at`, in microseconds since 1970; 0 where there is no device.
    package let registeredAt: Int64
    /// Whose the device is, for log hashes; nil where it is nobody's, or there is no device.
    package let user: String?
    /// The rule whose push made the provider call the token bad, while it is not known whether that was the token's fault.
    package let doubtedBy: Int32?

    /// Describes a delivery.
    package init(
        position: Int32,
        variant: Int32,
        token: String,
        address: PushAddress,
        deliveryID: [UInt8],
        registeredAt: Int64,
        user: String? = nil,
        doubtedBy: Int32? = nil
    ) {
        (self.position, self.variant, self.token) = (position, variant, token)
        (self.address, self.deliveryID, self.registeredAt) = (address, deliveryID, registeredAt)
        (self.user, self.doubtedBy) = (user, doubtedBy)
    }
}

/// What all devices of a variant get.
package struct PushContent: Sendable {
    /// As it was rendered.
    package let push: RenderedPush
    /// What of it all devices share, ready to be sent; where bodies are encrypted, what is encrypted.
    package let body: PushBody
    /// Of which trace its event is a part; for recipients only whose owner the trace is nothing strange to, never for a push service.
    package let trace: TraceContext?

    /// Takes over what was rendered.
    package init(_ push: RenderedPush, trace: TraceContext? = nil) {
        (self.push, self.trace) = (push, trace)
        body = PushBody(push.body, suffix: push.bodySuffix)
    }
}
