import Foundation

/// Lines that a daemon wrote, each with the moment at which it was read; who waits for one is woken.
final class DaemonLines: Sendable {
    private let condition = NSCondition()
    nonisolated(unsafe) private var lines: [(at: UInt64, text: String)] = []  // Under the condition's lock.

    func append(_ line: String) {
        condition.lock()
        lines.append((monotonicNanoseconds(), line))
        condition.unlock()
        condition.broadcast()
    }

    /// The first line after a moment that holds a text; blocks until there is one.
    ///
    /// - Returns: the line and the milliseconds from the moment to it; nil when the time is over.
    func line(with text: String, after moment: UInt64, seconds: Double) -> (text: String, milliseconds: Int)? {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let found = lines.first(where: { $0.at > moment && $0.text.contains(text) }) {
                return (found.text, Int((found.at - moment) / 1_000_000))
            }
            guard condition.wait(until: end) else { return nil }
        }
    }
}
