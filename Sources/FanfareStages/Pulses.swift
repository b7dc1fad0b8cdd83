package import FanfareCore
internal import Threading

/// When each stage's loop last came round, so that one that hangs is noticed.
///
/// A loop beats at every turn, also when it has nothing to do or its database is away. Whoever ends rests.
package final class Pulses: Sendable {
    /// After so long without a beat a loop hangs: no statement, connect or drain is allowed to take as long.
    package static let patience = 2 * Micros.minute

    private let beats = Locked<[String: Microseconds]>([:])
    private let now: @Sendable () -> Microseconds

    /// Makes pulses of nobody.
    ///
    /// - Parameter now: a clock that stands still while the machine sleeps, or all loops would seem to hang after that.
    package init(now: @escaping @Sendable () -> Microseconds = { KernelClock.monotonic.microseconds }) {
        self.now = now
    }

    /// A loop came round.
    package func beat(_ name: String) {
        let now = now()
        beats.withLock { $0[name] = now }
    }

    /// A loop has ended and is not expected to come round.
    package func rest(_ name: String) {
        beats.withLock { $0[name] = nil }
    }

    /// The loops that hang, by name.
    package var hanging: [String] {
        let end = now() - Self.patience
        return beats.withLock { beats in beats.filter { $0.value < end }.keys.sorted() }
    }
}
