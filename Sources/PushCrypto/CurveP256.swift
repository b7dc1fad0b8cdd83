internal import COpenSSL

/// The curve P-256 (FIPS 186-4), with OpenSSL's point arithmetic.
///
/// EVP would fetch and check the same objects for every message, at more than twice the CPU cost. OpenSSL's
/// implementation of this curve multiplies by a secret in constant time.
@safe
final class CurveP256: @unchecked Sendable {
    // Sendable: the EC_GROUP is only read after `init`.
    let group: OpaquePointer

    /// The size of an uncompressed point in bytes (SEC 1 section 2.3.3).
    static let pointSize = 65

    /// The size of a coordinate, and of a private key, in bytes.
    static let scalarSize = 32

    private static let instance: CurveP256? = {
        guard let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        return unsafe CurveP256(owning: group)
    }()

    private init(owning group: OpaquePointer) { unsafe self.group = group }

    deinit { unsafe EC_GROUP_free(group) }

    /// Returns the process's instance.
    static func shared() throws(CryptoError) -> CurveP256 {
        guard let instance else { throw CryptoError("EC_GROUP_new_by_curve_name") }
        return instance
    }

    /// Returns whether bytes are an uncompressed point on the curve.
    ///
    /// The cofactor is 1, so such a point is a valid public key (RFC 8291 section 7 requires this check).
    func holds(_ point: [UInt8]) -> Bool {
        guard point.count == Self.pointSize, point[0] == 4 else { return false }
        guard let decoded = unsafe EC_POINT_new(group) else { return false }
        defer { unsafe EC_POINT_free(decoded) }
        let isOnCurve = unsafe EC_POINT_oct2point(group, decoded, point, point.count, nil) == 1
        ERR_clear_error()
        return isOnCurve
    }
}
