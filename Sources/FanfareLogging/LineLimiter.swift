package import FanfareCore

/// Limits the lines of each kind per second and counts the rest, so that an error that repeats a hundred thousand times
/// produces a few lines and a count.
///
/// The first line of a kind always passes. Times are microseconds of any monotonic clock.
package struct LineLimiter<Kind: Hashable> {
    /// The number of omitted lines of one kind, reported in one line.
    package struct LeftOut: Equatable {
        package let kind: Kind
        package let count: Int
    }

    /// The lines of a kind in one second.
    private struct Window {
        let since: Microseconds
        var passed = 1
        var leftOut = 0
    }

    private static var width: Microseconds { Micros.second }

    private let limit: Int
    private var windows: [Kind: Window] = [:]
    private var leftOut: [LeftOut] = []

    /// Makes a limiter.
    ///
    /// - Parameter limit: the number of lines of a kind per second.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Decides whether a line is written.
    ///
    /// - Parameters:
    ///   - kind: the line's kind.
    ///   - now: the time.
    /// - Returns: false if the line is only counted.
    package mutating func admits(_ kind: Kind, at now: Microseconds) -> Bool {
        guard var window = windows[kind], now - window.since < Self.width else {
            close(kind)
            windows[kind] = Window(since: now)
            return true
        }
        let isAdmitted = window.passed < limit
        if isAdmitted { window.passed += 1 } else { window.leftOut += 1 }
        windows[kind] = window
        return isAdmitted
    }

    /// Returns the counts of omitted lines of past seconds, each once.
    ///
    /// - Parameter now: the time; `.max` includes the current second.
    /// - Returns: in no order.
    package mutating func takeLeftOut(at now: Microseconds) -> [LeftOut] {
        for (kind, window) in windows where now - window.since >= Self.width { close(kind) }
        defer { leftOut = [] }
        return leftOut
    }

    private mutating func close(_ kind: Kind) {
        guard let window = windows.removeValue(forKey: kind), window.leftOut > 0 else { return }
        leftOut.append(LeftOut(kind: kind, count: window.leftOut))
    }
}
