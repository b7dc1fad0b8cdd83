/// A scope of API tokens: the rights of the database role with that name.
public enum TokenScope: String, CaseIterable, Sendable {
    /// Emit events, and cancel them.
    case emitter
    /// Register devices, subscriptions and preferences, and forget users.
    case registrar
    /// Put rules and campaigns.
    case author
    /// Start, pause, resume and abort campaigns, and restore devices.
    case `operator`
    /// Read events, deliveries, devices, rules, campaigns and the state of the daemons.
    case reader

    /// The database role.
    public var role: String { "fanfare_\(rawValue)" }
}
