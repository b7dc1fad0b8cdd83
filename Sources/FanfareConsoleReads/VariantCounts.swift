internal import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// The counts of outcomes by variant of an event's message, for a part of its batches.
package struct VariantCounts: Sendable {
    /// The key of a count.
    package struct Key: Hashable, Sendable {
        package let rule: String
        /// The variant; `holdout` for devices that get nothing; nil if the rule has no variants, and for deleted
        /// devices.
        package let variant: String?
        package let outcome: String
    }

    /// The number of recipients, not attempts.
    package private(set) var counts: [Key: Int64] = [:]
    /// The last batch that was counted.
    package private(set) var place: Int64 = 0
    /// Whether all batches were counted.
    package private(set) var isAll = false
    /// Whether some counted deliveries had no final outcome yet.
    package private(set) var isOpen = false

    /// Makes empty counts.
    package init() {}

    /// The sum of the counts.
    package var total: Int64 { counts.values.reduce(0, +) }

    fileprivate mutating func add(_ rows: [EventVariantsRow]) {
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
    /// The time after which no further part is started: a page must load in 0.3 s.
    private static let countingTime = Duration.milliseconds(100)
    /// The number of pushes that are counted in about that time.
    private static let countedPushes: Int64 = 15_000

    /// Continues counting the variants of an event, for as many batches as a page can wait for.
    ///
    /// - Parameters:
    ///   - id: the event's id.
    ///   - counted: the counts so far.
    /// - Returns: the counts including the new batches.
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
                counts.add(try connection.run(SQL.eventVariants(id, counts.place, budget)))
                // A batch may have between one and a thousand pushes.
                let each = max(1, (counts.total - before) / Int64(budget))
                budget = Int32(min(500, max(15, Self.countedPushes / each)))
            } while !counts.isAll && ContinuousClock.now - begin < Self.countingTime
            return counts
        }
    }
}
