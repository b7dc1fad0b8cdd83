import Foundation

/// The log lines of a daemon, each with the time at which it was read; a new line wakes the waiting tests.
final class DaemonLines: Sendable {
    private let condition = NSCondition()
    nonisolated(unsafe) private var lines: [(at: UInt64, text: String)] = []  // Under the condition's lock.

    func append(_ line: String) {
        condition.lock()
        lines.append((monotonicNanoseconds(), line))
        condition.unlock()
        condition.broadcast()
    }

    /// Returns the first line after a time that contains a text; blocks until there is one.
    ///
    /// - Returns: the line and the milliseconds from that time to it; nil after the timeout.
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
