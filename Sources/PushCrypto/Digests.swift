internal import COpenSSL

/// Returns the SHA-256 hash of bytes (FIPS 180-4).
///
/// - Parameter bytes: the bytes to hash.
/// - Returns: 32 bytes.
public func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe SHA256(bytes, bytes.count, &digest)
    return digest
}

/// Returns a short, stable name for a device token or a user's id in logs: the first 8 hexadecimal digits of its
/// SHA-256.
///
/// A token cannot be recovered from it; a user's id can, by hashing a list of ids. Among a million texts about a
/// hundred pairs share a name, so it serves to find log lines, not to identify.
///
/// - Parameter text: the token or the id as it is stored.
/// - Returns: 8 lower-case hexadecimal digits.
public func shortHash(_ text: String) -> String {
    hexadecimal(sha256(Array(text.utf8)).prefix(4))
}

/// Returns unpredictable bytes, suitable for keys.
///
/// - Parameter count: the number of bytes.
/// - Returns: the bytes.
/// - Throws: ``CryptoError`` if the system's random number generator fails.
public func randomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard count == 0 || (unsafe RAND_bytes(&bytes, Int32(count))) == 1 else { throw CryptoError("RAND_bytes") }
    return bytes
}

private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return String(decoding: text, as: UTF8.self)
}
