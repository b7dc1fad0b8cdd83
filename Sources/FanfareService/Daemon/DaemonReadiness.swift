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

    /// Puts facts together.
    ///
    /// - Parameters:
    ///   - holdsLease: whether it may claim and send.
    ///   - isListening: whether LISTEN is known to work.
    ///   - openBreakers: to whom nothing is sent for now.
    public init(holdsLease: Bool, isListening: Bool, openBreakers: [String]) {
        (self.holdsLease, self.isListening, self.openBreakers) = (holdsLease, isListening, openBreakers)
    }
}

extension StageContext {
    /// The daemon's standing now.
    var readiness: DaemonReadiness {
        DaemonReadiness(
            holdsLease: lease.owner.map { lease.submitsUntil(owner: $0) > Clocks.steady } ?? false,
            isListening: status.isListening,
            openBreakers: status.openBreakers
        )
    }
}
