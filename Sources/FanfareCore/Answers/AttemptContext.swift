/// What must be known of an attempt to judge its answer.
public struct AttemptContext: Equatable, Sendable {
    /// What was tried before for this delivery.
    public let history: RetryHistory
    /// `registered_at` of the device, as read together with the token that was sent (wall clock).
    public let registeredAt: Microseconds
    /// When the answer came (wall clock).
    public let answeredAt: Microseconds
    /// When the delivery was planned, so before its first attempt (wall clock); nil if that is not known.
    ///
    /// A device registered later may hold another token now than earlier attempts were made with.
    public let plannedAt: Microseconds?
    /// Whether the push named a topic other than its app's: then an answer about the token may be about the topic.
    public let hasOwnTopic: Bool

    /// The circumstances of an attempt.
    ///
    /// - Parameters:
    ///   - history: what was tried before for this delivery.
    ///   - registeredAt: the device's `registered_at`, wall clock.
    ///   - answeredAt: when the answer came, wall clock.
    ///   - plannedAt: when the delivery was planned, wall clock.
    ///   - hasOwnTopic: whether the push named a topic other than its app's.
    public init(
        history: RetryHistory = .none,
        registeredAt: Microseconds,
        answeredAt: Microseconds,
        plannedAt: Microseconds? = nil,
        hasOwnTopic: Bool = false
    ) {
        self.history = history
        self.registeredAt = registeredAt
        self.answeredAt = answeredAt
        self.plannedAt = plannedAt
        self.hasOwnTopic = hasOwnTopic
    }
}
