/// The validated keys of a Web Push subscriber, to which messages are encrypted (RFC 8291 section 2.1).
///
/// A holder of `auth` can send to the device, so it is never logged.
public struct SubscriptionKeys: Sendable, Equatable {
    /// The subscriber's public key: an uncompressed point on P-256, 65 bytes.
    let publicKey: [UInt8]

    /// The authentication secret, 16 bytes.
    let authenticationSecret: [UInt8]

    /// Decodes and validates the keys in the form of `PushSubscription.toJSON()`.
    ///
    /// - Parameters:
    ///   - p256dh: the public key in base64url; padding and plain Base64 are accepted too.
    ///   - auth: the authentication secret, likewise.
    /// - Throws: ``SubscriptionKeyError`` for malformed keys; multiplication with a point that is not on the curve
    ///   would leak the private key.
    public init(p256dh: String, auth: String) throws(SubscriptionKeyError) {
        guard let point = Base64URL.decode(p256dh) else { throw SubscriptionKeyError(.p256dh, .notBase64) }
        guard point.count == CurveP256.pointSize else { throw SubscriptionKeyError(.p256dh, .length(point.count)) }
        guard point[0] == 4 else { throw SubscriptionKeyError(.p256dh, .compressed) }
        guard let curve = try? CurveP256.shared(), curve.holds(point) else {
            throw SubscriptionKeyError(.p256dh, .notOnCurve)
        }
        guard let secret = Base64URL.decode(auth) else { throw SubscriptionKeyError(.auth, .notBase64) }
        guard secret.count == 16 else { throw SubscriptionKeyError(.auth, .length(secret.count)) }
        publicKey = point
        authenticationSecret = secret
    }
}

/// The reason why a subscription's keys cannot be used for encryption.
public struct SubscriptionKeyError: Error, Equatable, CustomStringConvertible {
    /// The name of the key.
    public enum Field: String, Sendable {
        /// The public key.
        case p256dh
        /// The authentication secret.
        case auth
    }

    /// The kind of problem.
    public enum Reason: Equatable, Sendable {
        /// It is not valid Base64.
        case notBase64
        /// It has this many bytes instead of 65 or 16.
        case length(Int)
        /// It does not start with 4, the mark of an uncompressed point.
        case compressed
        /// The point is not on P-256.
        case notOnCurve
    }

    /// The name of the key.
    public let field: Field

    /// The kind of problem.
    public let reason: Reason

    init(_ field: Field, _ reason: Reason) {
        self.field = field
        self.reason = reason
    }

    /// One line for the operator, without the key.
    public var description: String {
        "\(field.rawValue): \(problem); register the subscription's keys as the browser gives them"
    }

    private var problem: String {
        switch reason {
        case .notBase64: "is not base64url"
        case .length(let count): "has \(count) bytes instead of \(field == .auth ? 16 : 65)"
        case .compressed: "is not an uncompressed point"
        case .notOnCurve: "is not a point on P-256"
        }
    }
}
