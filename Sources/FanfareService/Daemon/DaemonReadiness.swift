internal import FanfareStages
internal import Threading

/// What a daemon knows about its own condition, without a query.
public struct DaemonReadiness: Sendable, Equatable {
    /// Whether the daemon may claim and send, because its lease is valid.
    public let holdsLease: Bool
    /// Whether LISTEN is known to work; without it events are found by polling.
    public let isListening: Bool
    /// The senders that are paused because of too many failures, such as `shop/apns/production`.
    public let openBreakers: [String]
    /// The apps and environments in which pruning is stopped because of too many invalid tokens, such as
    /// `shop/production`.
    public let blownFuses: [String]
    /// When LISTEN was last confirmed to work, in seconds since 1970 by this machine's clock; nil if it never was.
    public let listenProvedAt: Double?

    /// Creates a readiness from its values.
    ///
    /// - Parameters:
    ///   - holdsLease: whether the daemon may claim and send.
    ///   - isListening: whether LISTEN is known to work.
    ///   - openBreakers: the senders that are paused because of too many failures.
    ///   - blownFuses: the apps and environments in which pruning is stopped.
    ///   - listenProvedAt: when LISTEN was last confirmed to work, in seconds since 1970.
    public init(
        holdsLease: Bool,
        isListening: Bool,
        openBreakers: [String],
        blownFuses: [String] = [],
        listenProvedAt: Double? = nil
    ) {
        (self.holdsLease, self.isListening, self.openBreakers) = (holdsLease, isListening, openBreakers)
        (self.blownFuses, self.listenProvedAt) = (blownFuses, listenProvedAt)
    }
}

extension StageContext {
    /// Returns the daemon's readiness now.
    func readiness(_ fuses: PruneFuses) -> DaemonReadiness {
        DaemonReadiness(
            holdsLease: lease.owner.map { lease.submitsUntil(owner: $0) > Clocks.steady } ?? false,
            isListening: status.isListening,
            openBreakers: status.openBreakers,
            blownFuses: fuses.blown.map { "\($0)" },
            listenProvedAt: status.listenProvedAt
        )
    }
}
