/// What a token of the HTTP API allows: what the database role of that name may do.
public enum TokenScope: String, CaseIterable, Sendable {
    /// To emit events, and to cancel them.
    case emitter
    /// To register devices, subscriptions and preferences, and to forget users.
    case registrar
    /// To put rules and campaigns.
    case author
    /// To start, pause, resume and abort campaigns, and to restore devices.
    case `operator`
    /// To see events, deliveries, devices, rules, campaigns and what the daemons do.
    case reader

    /// The database role.
    public var role: String { "fanfare_\(rawValue)" }
}
