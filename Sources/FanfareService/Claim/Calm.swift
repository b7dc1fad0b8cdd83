internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// What is decided about pairs of one batch by what their users want.
struct Calm {
    /// Nothing is: the rule asks nobody.
    static let none = Calm()

    private var outcomes: [Int: Outcome] = [:]

    private init() {}

    /// Looks who of a batch is not to be disturbed.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - rule: its rule, which has a category.
    ///   - now: the time by the database, in microseconds since 1970.
    ///   - connection: to read from.
    /// - Throws: what the database says.
    init(
        of batch: ClaimedBatch,
        by rule: LoadedRule,
        now: Microseconds,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard let category = rule.compiled.definition.calm.category else { return }
        let look = FetchCalm(deviceIDs: batch.deviceIDs, category: category, now: Timestamp(microseconds: now))
        for row in try connection.run(look) { outcomes[row.position] = row.isOptedOut ? .optedOut : .snoozed }
    }

    /// What is decided about a pair without a request; nil if it is sent.
    ///
    /// - Parameter position: the pair's in its batch.
    /// - Returns: its result.
    func decision(at position: Int) -> PairResult? {
        outcomes[position].map { PairResult(position: Int32(position), outcome: $0) }
    }
}

extension LoadedRule {
    /// Whether whom its pushes reach depends on what users want.
    var asksUsers: Bool { compiled.definition.calm.category != nil }
}
