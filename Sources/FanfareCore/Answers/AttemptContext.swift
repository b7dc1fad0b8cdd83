/// The circumstances of an attempt that decide how its answer is judged.
public struct AttemptContext: Equatable, Sendable {
    /// The earlier attempts for this delivery.
    public let history: RetryHistory
    /// The device's `registered_at`, read together with the token that was sent (wall clock).
    public let registeredAt: Microseconds
    /// When the answer came (wall clock).
    public let answeredAt: Microseconds
    /// When the delivery was planned, which is before its first attempt (wall clock); nil if unknown.
    ///
    /// A device that registered later may hold another token than the one used in earlier attempts.
    public let plannedAt: Microseconds?
    /// Whether the push names a topic other than its app's: then an answer about the token may be about the topic.
    public let hasOwnTopic: Bool
    /// Whether the push went to a Firebase installation id instead of a token.
    public let isInstallation: Bool
    /// Whether the push carries the token of a Live Activity: then an answer about the token may be about the activity's.
    public let isForActivity: Bool

    /// Makes the circumstances of an attempt.
    ///
    /// - Parameters:
    ///   - history: the earlier attempts for this delivery.
    ///   - registeredAt: the device's `registered_at`, wall clock.
    ///   - answeredAt: when the answer came, wall clock.
    ///   - plannedAt: when the delivery was planned, wall clock.
    ///   - hasOwnTopic: whether the push names a topic other than its app's.
    ///   - isInstallation: whether the push went to a Firebase installation id instead of a token.
    ///   - isForActivity: whether the push carries the token of a Live Activity.
    public init(
        history: RetryHistory = .none,
        registeredAt: Microseconds,
        answeredAt: Microseconds,
        plannedAt: Microseconds? = nil,
        hasOwnTopic: Bool = false,
        isInstallation: Bool = false,
        isForActivity: Bool = false
    ) {
        self.history = history
        self.registeredAt = registeredAt
        self.answeredAt = answeredAt
        self.plannedAt = plannedAt
        self.hasOwnTopic = hasOwnTopic
        self.isInstallation = isInstallation
        self.isForActivity = isForActivity
    }
}
