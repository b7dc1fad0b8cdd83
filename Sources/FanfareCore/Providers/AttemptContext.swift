/// What must be known of an attempt to judge its answer.
public struct AttemptContext: Equatable, Sendable {
    /// What was tried before for this pair.
    public let history: RetryHistory
    /// `registered_at` of the device, as read together with the token that was sent (wall clock).
    public let registeredAt: Microseconds
    /// When the answer came (wall clock).
    public let answeredAt: Microseconds

    /// The circumstances of an attempt.
    ///
    /// - Parameters:
    ///   - history: what was tried before for this pair.
    ///   - registeredAt: the device's `registered_at`, wall clock.
    ///   - answeredAt: when the answer came, wall clock.
    public init(history: RetryHistory = .none, registeredAt: Microseconds, answeredAt: Microseconds) {
        self.history = history
        self.registeredAt = registeredAt
        self.answeredAt = answeredAt
    }
}
