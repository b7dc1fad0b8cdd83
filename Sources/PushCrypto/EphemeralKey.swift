internal import COpenSSL

/// A key pair for one message, with its arithmetic.
///
/// The memory is reused for the next message, the key never. Used by one thread at a time.
@safe
final class EphemeralKey {
    private let curve: CurveP256
    private let context: OpaquePointer
    private let secret: OpaquePointer
    private let coordinate: OpaquePointer
    private let point: OpaquePointer

    private init(
        curve: CurveP256,
        context: OpaquePointer,
        secret: OpaquePointer,
        coordinate: OpaquePointer,
        point: OpaquePointer
    ) {
        self.curve = curve
        unsafe self.context = context
        unsafe self.secret = secret
        unsafe self.coordinate = coordinate
        unsafe self.point = point
        unsafe BN_set_flags(secret, BN_FLG_CONSTTIME)
    }

    deinit {
        unsafe BN_clear_free(secret)
        unsafe BN_clear_free(coordinate)
        unsafe EC_POINT_clear_free(point)
        unsafe BN_CTX_free(context)
    }

    /// Allocates the memory, without a key.
    static func open() throws(CryptoError) -> EphemeralKey {
        let curve = try CurveP256.shared()
        guard let context = unsafe BN_CTX_secure_new() else { throw CryptoError("BN_CTX_secure_new") }
        let secret = unsafe BN_secure_new()
        let coordinate = unsafe BN_new()
        let point = unsafe EC_POINT_new(curve.group)
        guard let secret = unsafe secret, let coordinate = unsafe coordinate, let point = unsafe point else {
            unsafe BN_clear_free(secret)
            unsafe BN_clear_free(coordinate)
            unsafe EC_POINT_free(point)
            unsafe BN_CTX_free(context)
            throw CryptoError("BN_new")
        }
        return unsafe EphemeralKey(
            curve: curve,
            context: context,
            secret: secret,
            coordinate: coordinate,
            point: point
        )
    }

    /// Generates a new random private key.
    func renew() throws(CryptoError) {
        repeat {
            guard unsafe BN_priv_rand_range(secret, EC_GROUP_get0_order(curve.group)) == 1 else {
                throw CryptoError("BN_priv_rand_range")
            }
        } while unsafe BN_is_zero(secret) == 1
    }

    /// Sets a given private key, for test vectors only.
    func set(_ bytes: [UInt8]) throws(CryptoError) {
        guard unsafe BN_bin2bn(bytes, Int32(bytes.count), secret) != nil else { throw CryptoError("BN_bin2bn") }
    }

    /// Returns the public key as an uncompressed point.
    func publicKey() throws(CryptoError) -> [UInt8] {
        guard unsafe EC_POINT_mul(curve.group, point, secret, nil, nil, context) == 1 else {
            throw CryptoError("EC_POINT_mul")
        }
        var bytes = [UInt8](repeating: 0, count: CurveP256.pointSize)
        let form = POINT_CONVERSION_UNCOMPRESSED
        let count = unsafe EC_POINT_point2oct(curve.group, point, form, &bytes, bytes.count, context)
        guard count == bytes.count else { throw CryptoError("EC_POINT_point2oct") }
        return bytes
    }

    /// Returns the secret shared with another key: the x coordinate of the product (RFC 8291 section 3.1).
    ///
    /// - Parameter peer: an uncompressed point; a point that is not on the curve is rejected.
    /// - Returns: the coordinate, 32 bytes.
    /// - Throws: ``CryptoError``.
    func sharedSecret(with peer: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard unsafe EC_POINT_oct2point(curve.group, point, peer, peer.count, context) == 1 else {
            throw CryptoError("EC_POINT_oct2point")
        }
        guard unsafe EC_POINT_mul(curve.group, point, nil, point, secret, context) == 1 else {
            throw CryptoError("EC_POINT_mul")
        }
        guard unsafe EC_POINT_get_affine_coordinates(curve.group, point, coordinate, nil, context) == 1 else {
            throw CryptoError("EC_POINT_get_affine_coordinates")
        }
        var bytes = [UInt8](repeating: 0, count: CurveP256.scalarSize)
        guard unsafe BN_bn2binpad(coordinate, &bytes, Int32(bytes.count)) == bytes.count else {
            throw CryptoError("BN_bn2binpad")
        }
        return bytes
    }
}
