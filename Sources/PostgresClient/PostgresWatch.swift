internal import Threading

/// Watches a connection, and gives it up, from any thread.
///
/// It may outlive the connection; it then does nothing.
public final class PostgresWatch: Sendable {
    private let abandonment: WakeSignal
    private let askedAt = Locked<ContinuousClock.Instant?>(nil)
    private let refuses = Locked(false)

    init(abandonment: WakeSignal) {
        self.abandonment = abandonment
    }

    /// Since when the connection waits for the answer to what it sent last; nil while it waits for none.
    ///
    /// That the server is at work for so long is one reason, that the link is dead another: this side cannot tell.
    public var waitingSince: ContinuousClock.Instant? { askedAt.withLock { $0 } }

    func asked() {
        let now = ContinuousClock.now
        askedAt.withLock { $0 = now }
    }

    func answered() {
        askedAt.withLock { $0 = nil }
    }

    /// Whether nothing more is sent.
    var isRefusing: Bool { refuses.withLock { $0 } }

    /// Has later statements refused with `cancelled`, unsent; what is in flight goes on.
    ///
    /// Not undone: a transaction that is open ends with the connection.
    func refuse() {
        refuses.withLock { $0 = true }
    }

    /// Gives the connection up without asking the server: a blocked call throws `cancelled` at once, later ones too.
    ///
    /// Whether a statement in flight took effect is unknown.
    public func abandon() {
        abandonment.wake()
    }
}
