/// A message from the server that is no error: NOTICE, WARNING and the like.
public struct PostgresNotice: Sendable {
    /// `WARNING`, `NOTICE`, `INFO`, `LOG` or `DEBUG`; never translated.
    public let severity: String
    /// The SQLSTATE, nil if the message is libpq's own.
    public let sqlState: String?
    /// The primary message; may quote data.
    public let message: String
    /// What to do about it, if the server says.
    public let hint: String?
}

/// What NOTIFY delivered.
public struct PostgresNotification: Sendable, Hashable {
    /// The channel that was listened to.
    public let channel: String
    /// The text given to NOTIFY; empty if none was.
    public let payload: String
    /// Process id of the session that sent it.
    public let senderPID: Int32
}

/// Where libpq's C callback finds the Swift closure.
final class NoticeSink {
    var handler: ((PostgresNotice) -> Void)?
}
