internal import Foundation

/// The secret that a webhook's requests are signed with (Standard Webhooks 1.0.0, "Signature scheme").
///
/// Has no description: whoever knows it can sign.
package struct WebhookSecret: RecipientKeys, Equatable {
    /// What stands in front of the secret's base64.
    package static let prefix = "whsec_"
    /// How many bytes it may have.
    package static let sizes = 24...64

    let bytes: [UInt8]

    /// Reads a secret; nil for what is none, or of another size.
    ///
    /// - Parameter text: `whsec_` and standard base64 with its padding.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let secret = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.sizes.contains(secret.count)
        else { return nil }
        bytes = Array(secret)
    }
}
