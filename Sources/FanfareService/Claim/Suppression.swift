internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The suppressions of one batch's deliveries, by users' preferences, snoozes and quiet hours.
struct Suppressions {
    /// The decision about one delivery.
    enum Decision: Equatable {
        /// The delivery is not sent.
        case drop(Outcome)
        /// The delivery is sent at this time (database clock).
        case hold(until: Microseconds, Outcome)
    }

    /// No suppressions, for rules without any.
    static let none = Suppressions()

    private var decisions: [Int: Decision] = [:]
    /// The preference version when preferences were read; nil if they were not.
    private(set) var askedAt: Int?

    private init() {}

    /// Reads the suppressions of a batch.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - suppressions: the suppressions that its rule defines.
    ///   - now: the database's time, in microseconds since 1970.
    ///   - said: the app's preference version.
    ///   - connection: the connection to read with.
    /// - Throws: errors of the server.
    init(
        of batch: ClaimedBatch,
        by suppressions: RuleSuppressions,
        now: Microseconds,
        said: Int,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        self.init(
            try connection.run(Self.query(at: batch, by: suppressions, now: now)),
            askedAt: suppressions.category == nil ? nil : said
        )
    }

    /// Creates the suppressions from rows.
    ///
    /// - Parameters:
    ///   - rows: all rows of the batch.
    ///   - askedAt: the preference version; nil if preferences were not read.
    init(_ rows: [SuppressionRow], askedAt: Int?) {
        self.askedAt = askedAt
        for row in rows { decisions[row.position] = row.decision(beside: decisions[row.position]) }
    }

    /// Returns the statement that reads the suppressions of a batch.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - suppressions: the suppressions that its rule defines.
    ///   - now: the database's time, in microseconds since 1970.
    /// - Returns: the statement.
    static func query(at batch: ClaimedBatch, by suppressions: RuleSuppressions, now: Microseconds) -> FetchSuppressions
    {
        FetchSuppressions(
            deviceIDs: batch.deviceIDs,
            target: batch.target,
            category: suppressions.category,
            now: Timestamp(microseconds: now),
            goesByApp: suppressions.goesByApp(in: batch.queue.lane),
            hours: suppressions.ownHours
        )
    }

    /// The decision about a delivery; nil if it is not suppressed.
    ///
    /// - Parameter position: the delivery's position in its batch.
    subscript(position: Int) -> Decision? { decisions[position] }

    /// Drops deliveries with an outcome.
    mutating func drop(_ positions: [Int], as outcome: Outcome) {
        for position in positions { decisions[position] = .drop(outcome) }
    }
}

extension SuppressionRow {
    /// Returns the decision for the row, combined with an earlier one for the same delivery.
    ///
    /// An opt-out takes precedence. Of two times the later one counts. Otherwise the earlier decision stands.
    fileprivate func decision(beside earlier: Suppressions.Decision?) -> Suppressions.Decision {
        if isOptedOut { return .drop(.optedOut) }
        let isSnoozed = snoozedUntil != nil
        guard isHeld, let until = (snoozedUntil ?? quietUntil)?.microseconds else {
            return earlier ?? .drop(isSnoozed ? .snoozed : .quiet)
        }
        if let earlier {
            guard case .hold(let other, _) = earlier, other < until else { return earlier }
        }
        return .hold(until: until, isSnoozed ? .heldSnoozed : .heldQuiet)
    }
}
