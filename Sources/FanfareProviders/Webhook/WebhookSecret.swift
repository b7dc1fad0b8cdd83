internal import Foundation

/// The secret that signs a webhook's requests (Standard Webhooks 1.0.0, "Signature scheme").
///
/// Its description does not show it, because knowing it suffices to sign.
package struct WebhookSecret: RecipientKeys, Equatable, CustomStringConvertible, CustomReflectable {
    /// The prefix of the secret's base64.
    package static let prefix = "whsec_"
    /// The allowed sizes in bytes.
    package static let sizes = 24...64

    let bytes: [UInt8]

    /// Parses a secret; nil for an invalid form or size.
    ///
    /// - Parameter text: `whsec_` followed by standard base64 with padding.
    package init?(_ text: String) {
        let encoded = String(text.dropFirst(Self.prefix.count))
        // Only the canonical encoding is accepted, as in the database.
        guard text.hasPrefix(Self.prefix), let secret = Data(base64Encoded: encoded),
            secret.base64EncodedString() == encoded,
            Self.sizes.contains(secret.count)
        else { return nil }
        bytes = Array(secret)
    }

    package var description: String { "\(Self.prefix)…" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
