internal import FanfareCore

/// The parts of an APNs response that decide how a delivery continues.
public struct APNsAnswer: Equatable, Sendable {
    /// The HTTP status.
    public let status: Int
    /// The parsed error body.
    public let error: APNsErrorBody
    /// The value of the `Retry-After` field; APNs documents none, but it is honoured if present.
    public let retryAfter: String?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - error: the parsed error body.
    ///   - retryAfter: the value of `Retry-After`.
    public init(status: Int, error: APNsErrorBody = APNsErrorBody(), retryAfter: String? = nil) {
        self.status = status
        self.error = error
        self.retryAfter = retryAfter
    }

    /// Creates an answer and parses its body, except for a 200.
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
