import FanfareCore

/// SplitMix64, which gives the same numbers for the same seed in every process.
struct Chance: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// Returns a uniformly distributed number in 0..<1.
    mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// Returns true with a probability.
    mutating func happens(_ probability: Double) -> Bool { unit() < probability }

    /// Returns a random span of time.
    mutating func time(_ range: ClosedRange<Microseconds>) -> Microseconds {
        range.lowerBound + Microseconds(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Returns a random integer.
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }
}
