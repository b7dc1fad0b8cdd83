internal import FanfareCore

/// The parts of an FCM response that decide how a delivery continues.
public struct FCMAnswer: Equatable, Sendable {
    /// The HTTP status.
    public let status: Int
    /// The parsed error body.
    public let error: FCMErrorBody
    /// The value of the `Retry-After` field.
    public let retryAfter: String?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - error: the parsed error body.
    ///   - retryAfter: the value of `Retry-After`.
    public init(status: Int, error: FCMErrorBody = FCMErrorBody(), retryAfter: String? = nil) {
        self.status = status
        self.error = error
        self.retryAfter = retryAfter
    }

    /// Creates an answer and parses its body, except for a 2xx.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - retryAfter: the value of `Retry-After`.
    public init(status: Int, body: some Collection<UInt8>, retryAfter: String? = nil) {
        let error = (200...299).contains(status) ? FCMErrorBody() : FCMErrorBody(parsing: body)
        self.init(status: status, error: error, retryAfter: retryAfter)
    }
}
