internal import Threading

/// Words what a change of subscriptions reports, for standard error.
public final class TopicVoice: Sendable {
    private struct State {
        var told: ContinuousClock.Instant
        var started: ContinuousClock.Instant
        /// The number of devices of earlier attempts.
        var before: Int64 = 0
        /// The number of devices that were left at the beginning; nil before they are counted.
        var left: Int64?
        /// Whether the cursor is on a line of progress.
        var hasLine = false
    }

    private let isTerminal: Bool
    private let pause: Duration
    private let state: Locked<State>

    /// Makes a voice that has said nothing yet.
    ///
    /// - Parameters:
    ///   - isTerminal: whether a line can be replaced by the next one.
    ///   - pause: the minimum interval between two lines of progress; by default 0.2 s on a terminal, else 10 s.
    ///   - now: the current time.
    public init(isTerminal: Bool, every pause: Duration? = nil, now: ContinuousClock.Instant = .now) {
        self.isTerminal = isTerminal
        self.pause = pause ?? (isTerminal ? .milliseconds(200) : .seconds(10))
        state = Locked(State(told: now, started: now))
    }

    /// Returns the text to write now.
    ///
    /// - Parameters:
    ///   - news: the report.
    ///   - now: the current time.
    /// - Returns: the text with its line end, or with what replaces the last line on a terminal; nil for nothing.
    public func text(_ news: TopicNews, now: ContinuousClock.Instant = .now) -> String? {
        state.withLock { state in
            switch news {
            case .continued(let devices):
                state.before = devices
                return line("continued after \(devices) devices", &state)
            case .counted(let left):
                (state.left, state.started) = (left, now)
                return nil
            case .held(let seconds): return line("FCM's quota is exhausted: waits for \(seconds) s", &state)
            case .progress(let devices, let refused):
                guard now - state.told >= pause else { return nil }
                state.told = now
                let text = progress(devices, refused, state, now)
                guard isTerminal else { return line(text, &state) }
                state.hasLine = true
                return Self.clear + text
            }
        }
    }

    /// Returns the text that ends the line of progress; nil if there is none.
    public func end() -> String? {
        state.withLock { state in
            defer { state.hasLine = false }
            return state.hasLine ? Self.clear : nil
        }
    }

    private static let clear = "\r\u{1B}[K"

    private func line(_ text: String, _ state: inout State) -> String {
        defer { state.hasLine = false }
        return (state.hasLine ? Self.clear : "") + "fanfare: \(text)\n"
    }

    private func progress(
        _ devices: Int64,
        _ refused: Int64,
        _ state: State,
        _ now: ContinuousClock.Instant
    ) -> String {
        let rate = Double(devices - state.before) / max(0.001, (now - state.started) / .seconds(1))
        var parts = ["\(devices) memberships"]
        let total = state.left.map { Double(state.before) + Double($0) } ?? 0
        // Devices that registered meanwhile can make it more than were counted.
        if total > 0 { parts.append("\(Int(min(1, Double(devices) / total) * 100)) %") }
        parts += ["\(Int64(rate)) a second", "\(refused) refused"]
        if total > Double(devices), rate > 0 {
            parts.append("about \(Self.time((total - Double(devices)) / rate)) left")
        }
        return parts.joined(separator: ", ")
    }

    private static func time(_ seconds: Double) -> String {
        let seconds = Int64(min(seconds.rounded(.up), 1e9))
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7200 { return "\((seconds + 30) / 60) min" }
        return "\((seconds + 1800) / 3600) h"
    }
}
