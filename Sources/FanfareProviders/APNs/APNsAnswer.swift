internal import FanfareCore

/// An answer of APNs, as far as it matters for what follows.
public struct APNsAnswer: Equatable, Sendable {
    /// The HTTP status.
    public let status: Int
    /// What the body said.
    public let error: APNsErrorBody
    /// The value of the field `Retry-After`; APNs documents none, it is honoured if it comes.
    public let retryAfter: String?

    /// An answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - error: what the body said.
    ///   - retryAfter: the value of `Retry-After`.
    public init(status: Int, error: APNsErrorBody = APNsErrorBody(), retryAfter: String? = nil) {
        self.status = status
        self.error = error
        self.retryAfter = retryAfter
    }

    /// An answer with its body unread; the body of a success is left alone.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - retryAfter: the value of `Retry-After`.
    public init(status: Int, body: some Collection<UInt8>, retryAfter: String? = nil) {
        let error = status == 200 ? APNsErrorBody() : APNsErrorBody(parsing: body)
        self.init(status: status, error: error, retryAfter: retryAfter)
    }
}
