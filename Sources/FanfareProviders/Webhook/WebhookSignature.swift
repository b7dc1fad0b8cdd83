internal import Foundation
package import PushCrypto

/// Signs requests (Standard Webhooks 1.0.0): HMAC-SHA256 over `id.timestamp.body`.
///
/// Used by one thread at a time.
package final class WebhookSignature {
    private let hmac: HMACSHA256

    /// - Throws: `CryptoError` if OpenSSL lacks a required algorithm.
    package init() throws(CryptoError) {
        hmac = try HMACSHA256.open()
    }

    /// Returns the value of `webhook-signature`.
    ///
    /// - Parameters:
    ///   - id: the value of `webhook-id`.
    ///   - timestamp: the value of `webhook-timestamp`.
    ///   - body: the request's body.
    ///   - secret: the webhook's secret.
    /// - Returns: `v1,` and the signature in base64.
    /// - Throws: `CryptoError` if OpenSSL cannot sign.
    package func value(
        id: [UInt8],
        timestamp: String,
        body: [UInt8],
        secret: WebhookSecret
    ) throws(CryptoError) -> String {
        let head = id + Array(".\(timestamp).".utf8)
        return "v1," + Data(try hmac.code(key: secret.bytes, head, body)).base64EncodedString()
    }
}
