internal import Threading

/// Watches a connection, and can abandon it, from any thread.
///
/// It may outlive the connection; it then does nothing.
public final class PostgresWatch: Sendable {
    private let abandonment: WakeSignal
    private let askedAt = Locked<ContinuousClock.Instant?>(nil)
    private let refuses = Locked(false)

    init(abandonment: WakeSignal) {
        self.abandonment = abandonment
    }

    /// When the connection began to wait for its last command's answer; nil while it waits for none.
    ///
    /// A long wait means that the server is busy or that the link is dead: this side cannot tell which.
    public var waitingSince: ContinuousClock.Instant? { askedAt.withLock { $0 } }

    func asked() {
        let now = ContinuousClock.now
        askedAt.withLock { $0 = now }
    }

    func answered() {
        askedAt.withLock { $0 = nil }
    }

    /// Whether further statements are refused.
    var isRefusing: Bool { refuses.withLock { $0 } }

    /// Makes later statements fail with `cancelled`, unsent; the one in flight continues.
    ///
    /// Cannot be undone: an open transaction ends with the connection.
    func refuse() {
        refuses.withLock { $0 = true }
    }

    /// Abandons the connection without asking the server: a blocked call throws `cancelled` at once, later ones too.
    ///
    /// Whether a statement in flight took effect is unknown.
    public func abandon() {
        abandonment.wake()
    }
}
