/// A push service, by its name in configuration, SQL and logs.
///
/// The providers' differences are not known to this module: each has a descriptor of its own.
public struct PushProvider: RawRepresentable, Hashable, Sendable {
    /// Its name, such as `apns`.
    public let rawValue: String

    /// Makes a name.
    ///
    /// - Parameter rawValue: the name, which is not checked.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
