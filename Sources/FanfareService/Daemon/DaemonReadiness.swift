internal import FanfareStages
internal import Threading

/// What a daemon knows of its own standing, without asking anybody.
public struct DaemonReadiness: Sendable, Equatable {
    /// Whether it may claim and send: its lease on the database is in force.
    public let holdsLease: Bool
    /// Whether LISTEN is known to work; without it events are found by polling.
    public let isListening: Bool
    /// To whom nothing is sent for now because too much failed, as `shop/apns/production`.
    public let openBreakers: [String]
    /// For whose devices nothing is disabled because too many tokens seemed dead, as `shop/production`.
    public let blownFuses: [String]
    /// When LISTEN was last proved to work, in seconds since 1970 by this machine's clock; nil if it never was.
    public let listenProvedAt: Double?

    /// Puts facts together.
    ///
    /// - Parameters:
    ///   - holdsLease: whether it may claim and send.
    ///   - isListening: whether LISTEN is known to work.
    ///   - openBreakers: to whom nothing is sent for now.
    ///   - blownFuses: for whose devices nothing is disabled.
    ///   - listenProvedAt: when LISTEN was last proved to work, in seconds since 1970.
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
    /// The daemon's standing now.
    var readiness: DaemonReadiness {
        DaemonReadiness(
            holdsLease: lease.owner.map { lease.submitsUntil(owner: $0) > Clocks.steady } ?? false,
            isListening: status.isListening,
            openBreakers: status.openBreakers,
            blownFuses: fuses.blown.map { "\($0)" },
            listenProvedAt: status.listenProvedAt
        )
    }
}
