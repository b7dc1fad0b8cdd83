/// Counts by key, in steps of equal length.
package struct StepCounts<Key: Hashable & Sendable>: Sendable {
    /// The start of each step, in microseconds since 1970.
    package let times: [Int64]
    package private(set) var counts: [Key: [Int64]] = [:]

    /// Creates empty counts.
    ///
    /// - Parameter times: the start of each step, at equal distances.
    package init(_ times: [Int64]) {
        self.times = times
    }

    /// Adds a count to its step; a time before the first step is ignored.
    ///
    /// - Parameters:
    ///   - count: the count.
    ///   - key: the key.
    ///   - time: microseconds since 1970; a time after the last step counts in the last.
    package mutating func add(_ count: Int64, of key: Key, at time: Int64) {
        guard let index = times.lastIndex(where: { $0 <= time }) else { return }
        counts[key, default: [Int64](repeating: 0, count: times.count)][index] += count
    }

    /// Sums the keys that pass a test, step by step.
    ///
    /// - Parameter isTaken: the test.
    /// - Returns: a sum for each step.
    package func steps(where isTaken: (Key) -> Bool) -> [Int64] {
        counts.reduce(into: [Int64](repeating: 0, count: times.count)) { sums, entry in
            guard isTaken(entry.key) else { return }
            for index in sums.indices { sums[index] += entry.value[index] }
        }
    }

    /// Sums the keys that pass a test over all steps.
    ///
    /// - Parameter isTaken: the test.
    /// - Returns: the sum.
    package func sum(where isTaken: (Key) -> Bool) -> Int64 { steps(where: isTaken).reduce(0, +) }
}
