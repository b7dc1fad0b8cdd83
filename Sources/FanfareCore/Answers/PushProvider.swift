/// A service that takes pushes for devices, by its name in configuration, SQL and logs.
///
/// Which there are, and all in which they differ, is not known here: each has a descriptor of its own.
public struct PushProvider: RawRepresentable, Hashable, Sendable {
    /// Its name, such as `apns`.
    public let rawValue: String

    /// Names a provider.
    ///
    /// - Parameter rawValue: its name; whether there is one of that name is not looked at.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
