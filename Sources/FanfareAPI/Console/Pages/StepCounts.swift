/// Counts in equal steps of time, by what they are of.
struct StepCounts<Key: Hashable & Sendable>: Sendable {
    /// When the steps begin, in microseconds since 1970.
    let times: [Int64]
    private(set) var counts: [Key: [Int64]] = [:]

    /// Nothing counted.
    ///
    /// - Parameter times: when the steps begin; at equal distances.
    init(_ times: [Int64]) {
        self.times = times
    }

    /// Counts; what lies before the first step is left out.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - key: of what.
    ///   - time: in microseconds since 1970; in the step that it lies in, or in the last.
    mutating func add(_ count: Int64, of key: Key, at time: Int64) {
        guard let index = times.lastIndex(where: { $0 <= time }) else { return }
        counts[key, default: [Int64](repeating: 0, count: times.count)][index] += count
    }

    /// The sums of all keys that a test takes, step by step.
    ///
    /// - Parameter isTaken: says which.
    /// - Returns: one for each step.
    func steps(where isTaken: (Key) -> Bool) -> [Int64] {
        counts.reduce(into: [Int64](repeating: 0, count: times.count)) { sums, entry in
            guard isTaken(entry.key) else { return }
            for index in sums.indices { sums[index] += entry.value[index] }
        }
    }

    /// The sum of all keys that a test takes.
    ///
    /// - Parameter isTaken: says which.
    /// - Returns: over all steps.
    func sum(where isTaken: (Key) -> Bool) -> Int64 { steps(where: isTaken).reduce(0, +) }
}

/// An outcome and its reason, as `fanfare.outcome_codes` has them.
struct OutcomeKey: Hashable, Sendable {
    let outcome: String
    let reason: String

    /// Whether the delivery was tried and did not arrive, or the provider called its device dead.
    var isFailure: Bool { isGone || ChartKind(ending: outcome) == .rejected }
    /// Whether the provider called its device dead.
    var isGone: Bool { outcome == "gone" }
    /// Whether its time passed before it was sent.
    var isLate: Bool { outcome == "expired" || outcome == "backlog_dropped" }
    /// Whether the delivery is over.
    var isEnd: Bool { ChartKind(ending: outcome) != nil }
    /// Whether it is over and did not arrive, for whatever reason.
    var isMissing: Bool { isEnd && outcome != "accepted" }
}
