/// Since when: a time, or so long ago by the database's clock.
public enum Since: Sendable, Equatable {
    /// So long ago.
    case ago(TimeSpan)
    /// A time as PostgreSQL reads it, such as `2026-11-21T13:00:00Z`; without a zone it is UTC.
    case time(String)

    /// Reads `2h`, or a time.
    ///
    /// - Parameter text: what somebody typed.
    public init(_ text: String) {
        self = TimeSpan(text).map(Since.ago) ?? .time(text)
    }

    /// How long ago, in seconds; nil for a time.
    public var seconds: Int64? {
        if case .ago(let span) = self { span.seconds } else { nil }
    }

    /// The time, as it was typed; nil for how long ago.
    public var text: String? {
        if case .time(let text) = self { text } else { nil }
    }
}
