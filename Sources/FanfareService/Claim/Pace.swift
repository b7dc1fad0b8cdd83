internal import FanfareCore

/// What is claimed together by the same rates: what waits behind one gate, or none, in one lane, for targets whose apps and providers
/// have the same.
struct Pace: Hashable {
    /// 0 for none.
    let gate: Int32
    let lane: Lane
    /// The rates of its targets, in order; the gate's own is not among them.
    let rates: [Int32]
}

extension Pace: Comparable {
    /// The order in which they have their turns: within a lane by their gates.
    static func < (left: Pace, right: Pace) -> Bool {
        (left.lane.rawValue, left.gate) == (right.lane.rawValue, right.gate)
            ? left.rates.lexicographicallyPrecedes(right.rates)
            : (left.lane.rawValue, left.gate) < (right.lane.rawValue, right.gate)
    }
}
