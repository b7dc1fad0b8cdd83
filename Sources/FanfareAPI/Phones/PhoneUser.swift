internal import FanfareCore
internal import FanfareProviders
internal import FanfareTools
internal import Foundation
internal import PushCrypto

/// Whose phone asks: all it may touch is his.
struct PhoneUser: Sendable {
    /// The user's id, as the token has it.
    let id: String
    /// The topics that phones of the app may subscribe to.
    let topics: [String]

    /// How the table of actions tells of him: not by name, since those rows outlive a user who is forgotten.
    var actor: String {
        "phone of \(sha256(Array(id.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined())"
    }

    /// Whether an id is his.
    ///
    /// Byte for byte: what Unicode holds to be equal is two users to the database.
    ///
    /// - Parameter other: from a path or a body.
    /// - Returns: whether it is.
    func `is`(_ other: String) -> Bool { id.utf8.elementsEqual(other.utf8) }

    /// Refuses what is about somebody else.
    ///
    /// - Parameter other: whom it is about; nil for nobody in particular.
    /// - Throws: 403.
    func check(isAbout other: String?) throws {
        guard let other, !self.is(other) else { return }
        throw Problem(.forbidden, "the token is another user's", hint: "A phone asks about its own user only.")
    }

    /// Refuses topics that are not for phones.
    ///
    /// - Parameter topic: the topic.
    /// - Throws: 403.
    func check(mayFollow topic: String) throws {
        let isFor = topics.contains { $0 == topic || ($0.hasSuffix("*") && topic.hasPrefix($0.dropLast())) }
        guard isFor else {
            throw Problem(
                .forbidden,
                "phones may not subscribe to this topic themselves",
                hint: "Name it in api.phone_topics, or have the backend do it."
            )
        }
    }

    /// Makes a registration his.
    ///
    /// - Parameter registration: as it came.
    /// - Returns: the same, for him.
    /// - Throws: 403 for another's, for attributes, which rules choose users by, and for a provider that is no phone's.
    func claim(_ registration: DeviceRegistration) throws -> DeviceRegistration {
        try check(isAbout: registration.userID)
        let providers: [PushProvider] = [.apns, .fcm, .webpush]
        guard providers.contains(where: { $0.rawValue == registration.provider }) else {
            throw Problem(.forbidden, "/provider: is none that phones register for themselves")
        }
        guard registration.attributes == nil else {
            throw Problem(.forbidden, "/attributes: are for the backend to set", hint: "Leave them out.")
        }
        var own = registration
        own.userID = id
        return own
    }
}
