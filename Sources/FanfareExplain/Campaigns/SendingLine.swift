internal import FanfareCampaigns
internal import FanfareCore

/// A queue of pushes that leave at a rate, modelled as a fluid; times are seconds after the campaign fired.
struct SendingLine {
    /// Pushes with the same earliest time.
    struct Part: Equatable {
        let ready: Double
        /// The time after which they expire, without using the rate.
        let deadline: Double
        var pushes: Double
    }

    /// A number of pushes and when it was reached.
    private struct Mark {
        let from: Double
        let count: Double
    }

    private let speed: SendingSpeed?
    private var rampBegan = 0.0
    private var clock = 0.0
    private var marks: [Mark] = []
    /// The number of pushes sent.
    private(set) var sent = 0.0
    /// The number of pushes expired.
    private(set) var expired = 0.0
    /// When the first push left.
    private(set) var first: Double?
    /// When the last push left.
    private(set) var last: Double?

    /// - Parameter speed: the speed limit; nil for none.
    init(_ speed: SendingSpeed?) {
        self.speed = speed
    }

    /// Restarts the ramp.
    mutating func restartRamp(at time: Double) {
        rampBegan = time
    }

    /// Sends pushes in the order in which they become ready.
    ///
    /// - Parameters:
    ///   - parts: in any order.
    ///   - end: the time from which none leaves.
    /// - Returns: the pushes left at that time.
    mutating func serve(_ parts: [Part], until end: Double = .infinity) -> [Part] {
        var left: [Part] = []
        for part in parts.sorted(by: { ($0.ready, $0.deadline) < ($1.ready, $1.deadline) }) where part.pushes > 0 {
            let start = max(clock, part.ready)
            guard start < min(part.deadline, end) else {
                if part.deadline <= start { expired += part.pushes } else { left.append(part) }
                continue
            }
            let leaving = min(part.pushes, room(from: start, to: min(part.deadline, end)))
            marks.append(Mark(from: start, count: leaving))
            clock = start + span(of: leaving, from: start)
            first = first ?? start
            last = clock
            sent += leaving
            guard leaving < part.pushes else { continue }
            let rest = Part(ready: part.ready, deadline: part.deadline, pushes: part.pushes - leaving)
            if part.deadline <= end { expired += rest.pushes } else { left.append(rest) }
        }
        return left
    }

    /// Returns when a number of pushes had left; 0 if it was never reached.
    func time(of count: Double) -> Double {
        var before = 0.0
        for mark in marks {
            if before + mark.count >= count { return mark.from + span(of: count - before, from: mark.from) }
            before += mark.count
        }
        return last ?? 0
    }

    private func room(from start: Double, to end: Double) -> Double {
        speed?.room(from: start - rampBegan, to: end - rampBegan) ?? .infinity
    }

    private func span(of count: Double, from start: Double) -> Double {
        speed?.span(of: count, from: start - rampBegan) ?? 0
    }
}

/// The number of pushes that may leave in a second; times are seconds after the ramp began.
struct SendingSpeed: Equatable, Sendable {
    private let from: Double
    private let full: Double
    /// The time in which the speed grows from its first to its last value.
    private let growth: Double

    /// Takes the slowest of the given limits; nil if there is none.
    ///
    /// - Parameters:
    ///   - rate: the campaign's rate.
    ///   - limit: the other limit, in pushes a second.
    init?(_ rate: CampaignRate?, limit: Int?) {
        guard let own = rate?.perSecond ?? limit else { return nil }
        full = Double(min(own, limit ?? own))
        guard let ramp = rate?.ramp, Double(ramp.from) < full else {
            (from, growth) = (full, 0)
            return
        }
        from = Double(ramp.from)
        growth = Double(ramp.over.seconds) * (full - from) / Double(own - ramp.from)
    }

    /// Returns how many pushes may leave between two times.
    func room(from start: Double, to end: Double) -> Double {
        let slow = max(0, min(end, growth) - start)
        let mean = (speed(at: start) + speed(at: min(end, growth))) / 2
        return slow * mean + (end > growth ? full * (end - max(start, growth)) : 0)
    }

    /// Returns how long a number of pushes takes from a time on.
    func span(of count: Double, from start: Double) -> Double {
        let slow = room(from: start, to: max(start, growth))
        guard count < slow else { return max(0, growth - start) + (count - slow) / full }
        let rise = (full - from) / growth
        let speed = speed(at: start)
        return ((speed * speed + 2 * rise * count).squareRoot() - speed) / rise
    }

    private func speed(at time: Double) -> Double {
        growth > 0 ? from + (full - from) * min(1, max(0, time / growth)) : full
    }
}
