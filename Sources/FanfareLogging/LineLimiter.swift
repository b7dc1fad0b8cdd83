package import FanfareCore

/// Lets so many lines of each kind through in a second, and counts the others: what fails a hundred thousand times is told
/// by a few lines and their number.
///
/// The first of a kind always passes. Times are microseconds of any steady clock.
package struct LineLimiter<Kind: Hashable> {
    /// Lines of one kind that are left out, to be told by one line.
    package struct LeftOut: Equatable {
        package let kind: Kind
        package let count: Int
    }

    /// A second in which lines of a kind came.
    private struct Window {
        let since: Microseconds
        var passed = 1
        var leftOut = 0
    }

    private static var width: Microseconds { Micros.second }

    private let limit: Int
    private var windows: [Kind: Window] = [:]
    private var leftOut: [LeftOut] = []

    /// Makes a limiter that has seen nothing.
    ///
    /// - Parameter limit: how many lines of a kind pass in a second.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether a line may be written.
    ///
    /// - Parameters:
    ///   - kind: what the line has in common with others.
    ///   - now: the time.
    /// - Returns: false if it is only counted.
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

    /// What was left out in seconds that are over, each line once.
    ///
    /// - Parameter now: the time; `.max` ends all seconds.
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
