internal import CPostgres
internal import Threading

/// Watches and interrupts a connection from any thread.
///
/// It may outlive the connection; it then does nothing.
@safe
public final class PostgresCanceller: @unchecked Sendable {
    // Sendable: PQcancel only reads the PGcancel and is documented as safe from any thread; WakeSignal is Sendable.
    private let cancel: OpaquePointer?
    private let abandonment: WakeSignal
    private let askedAt = Locked<ContinuousClock.Instant?>(nil)

    init(owning cancel: OpaquePointer?, abandonment: WakeSignal) {
        unsafe self.cancel = unsafe cancel
        self.abandonment = abandonment
    }

    deinit {
        unsafe PQfreeCancel(cancel)
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

    /// Asks the server to end the statement that runs now; it then throws `cancelled`.
    ///
    /// Blocks while it opens a connection of its own to ask. Nothing happens if no statement runs; one that starts
    /// just then may be hit instead.
    ///
    /// - Throws: `connectionFailed` if the server could not be asked.
    public func cancelStatement() throws(PostgresError) {
        guard let cancel = unsafe cancel else { return }
        var message: InlineArray<256, CChar> = .init(repeating: 0)
        var span = message.mutableSpan
        let text: String? = unsafe span.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, unsafe PQcancel(cancel, start, Int32(buffer.count)) == 0 else {
                return nil
            }
            return unsafe String(cString: start)
        }
        if let text { throw PostgresError(.connectionFailed, message: text.singleLine) }
    }

    /// Gives the connection up without asking the server: a blocked call throws `cancelled` at once, later ones too.
    ///
    /// Whether a statement in flight took effect is unknown.
    public func abandon() {
        abandonment.wake()
    }
}
