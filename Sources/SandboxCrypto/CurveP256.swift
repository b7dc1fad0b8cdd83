internal import COpenSSL

/// The curve P-256 (FIPS 186-4).
@safe
final class CurveP256: @unchecked Sendable {
    // Sendable: the EC_GROUP is only read after `init`.
    private let group: OpaquePointer

    static let shared = CurveP256()

    /// The size of a private key, and of a coordinate, in bytes.
    static let scalarSize = 32
    /// The size of an uncompressed point in bytes (SEC 1 section 2.3.3).
    static let pointSize = 65

    /// The order of the curve; private keys are smaller.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    private init() {
        guard let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
            preconditionFailure("OpenSSL has no P-256")
        }
        unsafe self.group = group
    }

    /// Returns whether bytes are an uncompressed point on the curve; the cofactor is 1, so each such point is a valid
    /// public key.
    func has(_ point: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard point.count == Self.pointSize, point[0] == 4, let decoded = unsafe EC_POINT_new(group) else {
            return false
        }
        defer { unsafe EC_POINT_free(decoded) }
        return unsafe EC_POINT_oct2point(group, decoded, point, point.count, nil) == 1
    }

    /// Returns the public key of a private key.
    ///
    /// - Parameter scalar: the private key, big-endian.
    /// - Returns: an uncompressed point; nil for a number out of range.
    func point(of scalar: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard scalar.count == Self.scalarSize, scalar.contains(where: { $0 != 0 }),
            scalar.lexicographicallyPrecedes(Self.order),
            let number = unsafe BN_bin2bn(scalar, Int32(scalar.count), nil)
        else { return nil }
        defer { unsafe BN_clear_free(number) }
        guard let point = unsafe EC_POINT_new(group) else { return nil }
        defer { unsafe EC_POINT_free(point) }
        var bytes = [UInt8](repeating: 0, count: Self.pointSize)
        guard unsafe EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
            unsafe EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil)
                == bytes.count
        else { return nil }
        return bytes
    }

    /// Creates OpenSSL's key from a point, and from the private key if it is known.
    ///
    /// - Parameters:
    ///   - point: a point on the curve.
    ///   - scalar: the private key; nil for a public key alone.
    /// - Returns: the key.
    /// - Throws: ``OpenSSLFailure``.
    func key(_ point: [UInt8], scalar: [UInt8]? = nil) throws(OpenSSLFailure) -> KeyPair {
        let number = unsafe scalar.flatMap { unsafe BN_bin2bn($0, Int32($0.count), nil) }
        defer { unsafe BN_clear_free(number) }
        guard let key = unsafe copenssl_p256_key(point, point.count, number) else {
            throw OpenSSLFailure("EVP_PKEY_fromdata")
        }
        return unsafe KeyPair(owning: key)
    }
}
