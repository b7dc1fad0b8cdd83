internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Determines which deliveries of a batch a rule's caps admit.
struct CapTaker {
    /// A delivery that nothing but a cap can hold back.
    struct Delivery {
        /// The position in the batch.
        let position: Int
        let user: String
        let event: Int64
    }

    let target: Int16
    /// The names of the caps.
    let caps: [String]
    /// Whether the batch's deliveries were tried before.
    let isRetry: Bool

    /// Counts deliveries against the caps, by user and event.
    ///
    /// - Parameters:
    ///   - deliveries: the deliveries to count.
    ///   - connection: a connection outside a transaction, which would hold row locks that others wait for.
    /// - Returns: the positions of the deliveries for which a cap is full.
    /// - Throws: errors of the server. Deliveries counted before the error stay counted, and are granted again when
    ///   they are counted again.
    func full(_ deliveries: [Delivery], on connection: PostgresConnection) throws(PostgresError) -> [Int] {
        var rounds = CapRounds(deliveries, target: target, caps: caps, isRetry: isRetry)
        while let take = rounds.next() { rounds.answered(try connection.run(take)) }
        return rounds.full
    }
}

/// The sequence of statements for a batch's deliveries: each covers one event per user.
struct CapRounds {
    private let target: Int16
    private let caps: [String]
    private let isRetry: Bool
    private var left: [ExactText: [(key: Int64, value: [CapTaker.Delivery])]]
    /// The users, events and deliveries of the last statement.
    private var round: [(user: ExactText, event: Int64, deliveries: [CapTaker.Delivery])] = []
    /// The positions of the deliveries for which a cap is full, according to the results so far.
    private(set) var full: [Int] = []

    init(_ deliveries: [CapTaker.Delivery], target: Int16, caps: [String], isRetry: Bool = false) {
        (self.target, self.caps, self.isRetry) = (target, caps, isRetry)
        left = Dictionary(grouping: deliveries) { ExactText($0.user) }.mapValues { deliveries in
            Dictionary(grouping: deliveries, by: \.event).sorted { $0.key < $1.key }
        }
    }

    /// Returns the next statement, to be followed by ``answered(_:)``; nil if there are no more.
    mutating func next() -> TakeCaps? {
        guard !left.isEmpty else { return nil }
        round = left.compactMap { user, events in
            events.first.map { (user: user, event: $0.key, deliveries: $0.value) }
        }
        left = left.mapValues { Array($0.dropFirst()) }.filter { !$0.value.isEmpty }
        return TakeCaps(
            target: target,
            caps: caps,
            users: round.map(\.user.text),
            events: round.map(\.event),
            isRetry: isRetry
        )
    }

    /// Applies the result of the last statement: the users whose deliveries were granted.
    mutating func answered(_ users: [String]) {
        let granted = Set(users.map { ExactText($0) })
        for one in round where !granted.contains(one.user) { full += one.deliveries.map(\.position) }
    }
}
