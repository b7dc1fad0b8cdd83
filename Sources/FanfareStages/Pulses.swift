package import FanfareCore
internal import Threading

/// The time of each stage loop's last turn, to detect loops that hang.
///
/// A loop beats at every turn, also when it is idle or the database is unreachable. A loop that ends is removed.
package final class Pulses: Sendable {
    /// The time without a beat after which a loop counts as hanging; no statement, connect or drain may take that long.
    package static let patience = 2 * Micros.minute

    private let beats = Locked<[String: Microseconds]>([:])
    private let now: @Sendable () -> Microseconds

    /// Creates an empty set.
    ///
    /// - Parameter now: a clock that stops while the machine sleeps; otherwise all loops would seem to hang after a
    ///   suspend.
    package init(now: @escaping @Sendable () -> Microseconds = { KernelClock.monotonic.microseconds }) {
        self.now = now
    }

    /// Records a loop's turn.
    package func beat(_ name: String) {
        let now = now()
        beats.withLock { $0[name] = now }
    }

    /// Removes a loop that has ended.
    package func rest(_ name: String) {
        beats.withLock { $0[name] = nil }
    }

    /// The names of the loops that hang, sorted.
    package var hanging: [String] {
        let end = now() - Self.patience
        return beats.withLock { beats in beats.filter { $0.value < end }.keys.sorted() }
    }
}
