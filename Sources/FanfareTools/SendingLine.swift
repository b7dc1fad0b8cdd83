internal import FanfareCampaigns
internal import FanfareCore

/// Pushes that leave one after the other at a rate, as if they were a fluid; times are seconds after the campaign fired.
struct SendingLine {
    /// Pushes that may leave from the same time on.
    struct Part: Equatable {
        let ready: Double
        /// From then on they are too late, and take nothing of the rate.
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
    /// How many left.
    private(set) var sent = 0.0
    /// How many were too late.
    private(set) var expired = 0.0
    /// When the first left.
    private(set) var first: Double?
    /// When the last left.
    private(set) var last: Double?

    /// - Parameter speed: nil for as fast as can be.
    init(_ speed: SendingSpeed?) {
        self.speed = speed
    }

    /// Has the ramp begin anew.
    mutating func restartRamp(at time: Double) {
        rampBegan = time
    }

    /// Lets pushes leave in the order in which they are ready.
    ///
    /// - Parameters:
    ///   - parts: in any order.
    ///   - end: from when on none leaves.
    /// - Returns: what is left then.
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

    /// When so many had left; 0 where as many never did.
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

/// How many pushes may leave in a second; times are seconds after the ramp began.
struct SendingSpeed: Equatable, Sendable {
    private let from: Double
    private let full: Double
    /// How long it takes from the one to the other.
    private let growth: Double

    /// The slowest of what is given; nil for as fast as can be.
    ///
    /// - Parameters:
    ///   - rate: the campaign's own.
    ///   - limit: what else holds for it, pushes a second.
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

    /// How many may leave between two times.
    func room(from start: Double, to end: Double) -> Double {
        let slow = max(0, min(end, growth) - start)
        let mean = (speed(at: start) + speed(at: min(end, growth))) / 2
        return slow * mean + (end > growth ? full * (end - max(start, growth)) : 0)
    }

    /// How long so many take from a time on.
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
