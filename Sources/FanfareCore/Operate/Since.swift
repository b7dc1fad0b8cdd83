/// The start of a time range: a time, or an age by the database's clock.
public enum Since: Sendable, Equatable {
    /// An age.
    case ago(TimeSpan)
    /// A time as PostgreSQL reads it, such as `2026-11-21T13:00:00Z`; without a zone it is UTC.
    case time(String)

    /// Parses `2h`, or a time.
    ///
    /// - Parameter text: the argument.
    public init(_ text: String) {
        self = TimeSpan(text).map(Since.ago) ?? .time(text)
    }

    /// The age in seconds; nil for a time.
    public var seconds: Int64? {
        if case .ago(let span) = self { span.seconds } else { nil }
    }

    /// The time as typed; nil for an age.
    public var text: String? {
        if case .time(let text) = self { text } else { nil }
    }
}
