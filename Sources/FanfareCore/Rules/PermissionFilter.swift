/// A permission by which an audience filters devices.
public enum PermissionFilter: String, CaseIterable, Sendable {
    /// The phone's user allowed notifications.
    case authorized
    /// The phone shows notifications quietly, without having asked its user.
    case provisional
    /// The phone's user refused notifications.
    case denied
    /// No registration of the device said a permission.
    case unknown

    /// The permissions that a registration can say.
    public static let said: [PermissionFilter] = [.authorized, .provisional, .denied]
}

/// What a phone presents of a notification if its user allows it.
public enum Presentation: String, CaseIterable, Sendable {
    /// The notification itself.
    case alert
    /// The number on the app's icon.
    case badge
    /// The sound.
    case sound
}

extension JSONObject {
    /// Returns the words of a member that is one word or a list of words; nil without the member.
    func words(_ key: String) -> [String]? {
        self[key].map { ($0.arrayValue ?? [$0]).compactMap(\.stringValue) }
    }
}

extension JSONValue {
    /// Returns one word as a string, and several as a list.
    static func words(_ words: [String]) -> JSONValue {
        words.count == 1 ? .string(words[0]) : .array(words.map(JSONValue.string))
    }
}
