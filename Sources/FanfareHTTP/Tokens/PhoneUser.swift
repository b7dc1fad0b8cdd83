internal import Foundation
internal import PushCrypto

/// The user of a phone token, who may access only their own data.
package struct PhoneUser: Sendable {
    /// The user's id, from the token.
    package let id: String
    /// The topics that phones of the app may subscribe to.
    package let topics: [String]

    /// The user's name in `fanfare.actions`: a hash, because those rows outlive a user who is forgotten.
    var actor: String {
        "phone of \(sha256(Array(id.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined())"
    }

    package init(id: String, topics: [String]) { (self.id, self.topics) = (id, topics) }
}
