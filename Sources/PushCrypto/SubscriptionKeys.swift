/// A Web Push subscriber's keys, checked: to them messages are encrypted (RFC 8291 section 2.1).
///
/// Whoever holds `auth` can send to the device: not logged.
public struct SubscriptionKeys: Sendable, Equatable {
    /// The subscriber's public key: an uncompressed point on P-256, 65 bytes.
    let publicKey: [UInt8]

    /// The authentication secret, 16 bytes.
    let authenticationSecret: [UInt8]

    /// Decodes and checks the keys as the browser gives them in `PushSubscription.toJSON()`.
    ///
    /// - Parameters:
    ///   - p256dh: the public key in base64url; padding and plain Base64 are taken too.
    ///   - auth: the authentication secret, likewise.
    /// - Throws: ``SubscriptionKeyError`` if they are no such keys; a point that is not on the curve would give away what
    ///   it is multiplied with.
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

/// Why a subscription's keys cannot be encrypted to.
public struct SubscriptionKeyError: Error, Equatable, CustomStringConvertible {
    /// Which of the two.
    public enum Field: String, Sendable {
        /// The public key.
        case p256dh
        /// The authentication secret.
        case auth
    }

    /// What is wrong with it.
    public enum Reason: Equatable, Sendable {
        /// It is not in Base64.
        case notBase64
        /// It has so many bytes instead of 65 or 16.
        case length(Int)
        /// It does not begin with 4, the mark of an uncompressed point.
        case compressed
        /// The point does not lie on P-256.
        case notOnCurve
    }

    /// Which key.
    public let field: Field

    /// What is wrong with it.
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
        case .compressed: "is no uncompressed point"
        case .notOnCurve: "is no point on P-256"
        }
    }
}
