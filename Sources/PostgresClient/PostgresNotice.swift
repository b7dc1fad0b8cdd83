/// A message from the server that is not an error: NOTICE, WARNING and the like.
public struct PostgresNotice: Sendable {
    /// `WARNING`, `NOTICE`, `INFO`, `LOG` or `DEBUG`; never translated.
    public let severity: String
    /// The SQLSTATE; nil if the message is libpq's own.
    public let sqlState: String?
    /// The primary message; may quote data.
    public let message: String
    /// The server's hint, if it sent one.
    public let hint: String?
}

/// A notification that LISTEN received.
public struct PostgresNotification: Sendable, Hashable {
    /// The channel.
    public let channel: String
    /// The text given to NOTIFY; empty if there was none.
    public let payload: String
    /// The process id of the session that sent it.
    public let senderPID: Int32
}

/// The object through which libpq's C callback finds the Swift closure.
final class NoticeSink {
    var handler: ((PostgresNotice) -> Void)?
}
