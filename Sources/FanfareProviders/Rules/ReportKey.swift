internal import PushCrypto

/// The installation's key for the handles of pushes, with which devices report.
///
/// A handle proves that this installation made the push. It is equal for all recipients of a body.
package struct ReportKey: Equatable, Sendable {
    /// The number of characters of a handle.
    package static let handleLength = 32
    /// The number of bytes of the authentication code.
    private static let codeLength = 10

    private let id: UInt8
    private let secret: [UInt8]

    /// Makes a key of the row of `fanfare.report_keys`.
    ///
    /// - Parameters:
    ///   - id: its number, 1 to 255.
    ///   - secret: its 32 bytes.
    package init?(id: Int16, secret: [UInt8]) {
        guard let number = UInt8(exactly: id), secret.count == 32 else { return nil }
        (self.id, self.secret) = (number, secret)
    }

    /// Returns the handle of a push, the same as `fanfare.report_handle`.
    ///
    /// - Parameters:
    ///   - event: the event's id.
    ///   - ruleVersion: the id of the rule's version.
    ///   - variant: the index of the message's variant; 0 without variants.
    /// - Returns: 32 characters of base64url; nil if OpenSSL fails, and for a variant that has no byte.
    package func handle(event: Int64, ruleVersion: Int32, variant: Int) -> String? {
        guard let variant = UInt8(exactly: variant) else { return nil }
        var bytes = [id]
        bytes += Self.bytes(UInt64(bitPattern: event))
        bytes += Self.bytes(UInt32(bitPattern: ruleVersion))
        bytes.append(variant)
        guard let hmac = try? HMACSHA256.open(), let code = try? hmac.code(key: secret, [UInt8(ascii: "h")], bytes)
        else { return nil }
        return Base64URL.encode(bytes + code.prefix(Self.codeLength))
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
