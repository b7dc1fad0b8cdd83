internal import FanfareCore
internal import FanfareHTTP
internal import FanfareProviders
internal import FanfareTools

extension PhoneUser {
    /// Returns whether an id is this user's.
    ///
    /// Ids are compared byte by byte, because the database treats canonically equivalent Unicode texts as two users.
    ///
    /// - Parameter other: an id from a path or a body.
    /// - Returns: whether the ids are equal.
    func `is`(_ other: String) -> Bool { id.utf8.elementsEqual(other.utf8) }

    /// Refuses requests about another user.
    ///
    /// - Parameter other: the user in the request; nil for none.
    /// - Throws: a ``Problem`` with status 403.
    func check(isAbout other: String?) throws {
        guard let other, !self.is(other) else { return }
        throw Problem(.forbidden, "the token is another user's", hint: "A phone asks about its own user only.")
    }

    /// Refuses topics that phones may not subscribe to.
    ///
    /// - Parameter topic: the topic.
    /// - Throws: a ``Problem`` with status 403.
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

    /// Returns a registration with this user as its owner.
    ///
    /// - Parameter registration: the registration as received.
    /// - Returns: the same registration for this user.
    /// - Throws: a ``Problem`` with status 403 for another user, for attributes, by which rules select users, and for a
    ///   provider that phones do not use.
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
