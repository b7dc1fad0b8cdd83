internal import FanfareStore
internal import PostgresClient

/// How often each outcome came of each variant of an event's message, in a part of its batches.
package struct VariantCounts: Sendable {
    /// What is counted together.
    package struct Key: Hashable, Sendable {
        package let rule: String
        /// `holdout` for those who get nothing; nil where the rule has no variants, and for devices that were forgotten.
        package let variant: String?
        package let outcome: String
    }

    /// Recipients, not attempts.
    package private(set) var counts: [Key: Int64] = [:]
    /// The last batch that was counted.
    package private(set) var place: Int64 = 0
    /// Whether all batches that there are were counted.
    package private(set) var isAll = false
    /// Whether something of it was not at its end when it was counted.
    package private(set) var isOpen = false

    /// Nothing counted.
    package init() {}

    /// The sum.
    package var total: Int64 { counts.values.reduce(0, +) }

    fileprivate mutating func add(_ rows: [EventVariants.Row]) {
        isAll = rows.isEmpty
        for row in rows {
            place = max(place, row.lastBatch)
            guard let rule = row.rule else { continue }
            if row.outcome == "pending" || row.outcome == "attempted" { isOpen = true }
            counts[Key(rule: rule, variant: row.variant, outcome: row.outcome), default: 0] += row.count
        }
    }
}

extension ToolDatabase {
    /// For so long another part is begun: a page is to be there in 0.3 s.
    private static let countingTime = Duration.milliseconds(100)
    /// So many pushes are counted in about that time.
    private static let countedPushes: Int64 = 15_000

    /// Counts the variants of an event on, as many of its batches as a page can wait for.
    ///
    /// - Parameters:
    ///   - id: the event's id.
    ///   - counted: what was counted before.
    /// - Returns: that, and more.
    /// - Throws: ``ToolError``.
    package func countVariants(
        ofEvent id: Int64,
        behind counted: VariantCounts = VariantCounts()
    ) async throws(ToolError) -> VariantCounts {
        try await run { connection throws(PostgresError) in
            var counts = counted
            var budget: Int32 = 15
            let begin = ContinuousClock.now
            repeat {
                let before = counts.total
                counts.add(try connection.run(EventVariants(event: id, after: counts.place, budget: budget)))
                // Batches may have a thousand pushes, or one.
                let each = max(1, (counts.total - before) / Int64(budget))
                budget = Int32(min(500, max(15, Self.countedPushes / each)))
            } while !counts.isAll && ContinuousClock.now - begin < Self.countingTime
            return counts
        }
    }
}
