internal import Foundation

/// The secret that a webhook's requests are signed with (Standard Webhooks 1.0.0, "Signature scheme").
///
/// Its description does not tell it: whoever knows it can sign.
package struct WebhookSecret: RecipientKeys, Equatable, CustomStringConvertible, CustomReflectable {
    /// What stands in front of the secret's base64.
    package static let prefix = "whsec_"
    /// How many bytes it may have.
    package static let sizes = 24...64

    let bytes: [UInt8]

    /// Reads a secret; nil for what is none, or of another size.
    ///
    /// - Parameter text: `whsec_` and standard base64 with its padding.
    package init?(_ text: String) {
        let encoded = String(text.dropFirst(Self.prefix.count))
        // Written in the one canonical way, as the database takes it.
        guard text.hasPrefix(Self.prefix), let secret = Data(base64Encoded: encoded),
            secret.base64EncodedString() == encoded,
            Self.sizes.contains(secret.count)
        else { return nil }
        bytes = Array(secret)
    }

    package var description: String { "\(Self.prefix)…" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
