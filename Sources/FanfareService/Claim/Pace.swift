internal import FanfareCore

/// A set of batches that are claimed together under the same rates: those in one lane, behind one gate or none, of
/// targets with the same app and provider rates.
struct Pace: Hashable {
    /// The gate's id; 0 for none.
    let gate: Int32
    let lane: Lane
    /// The ids of the targets' rates, sorted, without the gate's own rate.
    let rates: [Int32]
}

extension Pace: Comparable {
    /// Orders paces by lane, then by gate: the order of their turns.
    static func < (left: Pace, right: Pace) -> Bool {
        (left.lane.rawValue, left.gate) == (right.lane.rawValue, right.gate)
            ? left.rates.lexicographicallyPrecedes(right.rates)
            : (left.lane.rawValue, left.gate) < (right.lane.rawValue, right.gate)
    }
}
