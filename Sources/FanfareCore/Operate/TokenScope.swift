/// A scope of API tokens: the rights of a database role, usually the one with that name.
public enum TokenScope: String, CaseIterable, Sendable {
    /// Emit events, and cancel them.
    case emitter
    /// Register devices, subscriptions and preferences, and forget users.
    case registrar
    /// Send messages without a rule.
    case sender
    /// Put rules and campaigns.
    case author
    /// Start, pause, resume and abort campaigns, and restore devices.
    case `operator`
    /// Read events, deliveries, devices, rules, campaigns and the state of the daemons.
    case reader

    /// The database role; that of a sender is the author's, since a new role could not be created by every owner.
    public var role: String { self == .sender ? Self.author.role : "fanfare_\(rawValue)" }
}
