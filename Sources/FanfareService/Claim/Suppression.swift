internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// What is decided about deliveries of one batch by what their users want, and by the time of day where they are.
struct Suppressions {
    /// What is decided about one delivery.
    enum Decision: Equatable {
        /// It is not sent.
        case drop(Outcome)
        /// It is sent then (database clock).
        case hold(until: Microseconds, Outcome)
    }

    /// Nothing is: the rule asks nobody.
    static let none = Suppressions()

    private var decisions: [Int: Decision] = [:]
    /// How often users had said what they want when they were asked; nil where nobody was.
    private(set) var askedAt: Int?

    private init() {}

    /// Looks who of a batch is not to be disturbed.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - suppressions: whom its rule does not disturb.
    ///   - now: the time by the database, in microseconds since 1970.
    ///   - said: how often users had said what they want.
    ///   - connection: to read from.
    /// - Throws: what the database says.
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

    /// Takes over what was found out about a batch's deliveries.
    ///
    /// - Parameters:
    ///   - rows: all that was found.
    ///   - askedAt: how often users had said what they want; nil where nobody was asked.
    init(_ rows: [SuppressionRow], askedAt: Int?) {
        self.askedAt = askedAt
        for row in rows { decisions[row.position] = row.decision(beside: decisions[row.position]) }
    }

    /// What is asked about a batch.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - suppressions: whom its rule does not disturb.
    ///   - now: the time by the database, in microseconds since 1970.
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

    /// What is decided about a delivery; nil if nothing is.
    ///
    /// - Parameter position: the delivery's in its batch.
    subscript(position: Int) -> Decision? { decisions[position] }

    /// Decides deliveries about which nothing is decided.
    mutating func drop(_ positions: [Int], as outcome: Outcome) {
        for position in positions { decisions[position] = .drop(outcome) }
    }
}

extension SuppressionRow {
    /// What follows from it, and from what was said of the same delivery before: what the user wants comes first, and of two times the
    /// later counts.
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
