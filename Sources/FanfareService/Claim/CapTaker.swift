internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Asks a rule's caps which deliveries of a batch may be sent.
struct CapTaker {
    /// A delivery that nothing else speaks against.
    struct Delivery {
        /// In its batch.
        let position: Int
        let user: String
        let event: Int64
    }

    let target: Int16
    /// The caps' names.
    let caps: [String]
    /// Whether the batch's deliveries were tried before.
    let isRetry: Bool

    /// Counts deliveries, by user and event.
    ///
    /// - Parameters:
    ///   - deliveries: which.
    ///   - connection: outside of a transaction, which would keep others waiting.
    /// - Returns: the positions of those for which a cap is full.
    /// - Throws: what the database says; what was counted by then stays so, and is granted again when it is asked for again.
    func full(_ deliveries: [Delivery], on connection: PostgresConnection) throws(PostgresError) -> [Int] {
        var rounds = CapRounds(deliveries, target: target, caps: caps, isRetry: isRetry)
        while let take = rounds.next() { rounds.answered(try connection.run(take)) }
        return rounds.full
    }
}

/// The questions that a batch's deliveries need, one after the other: one event of each user at a time.
struct CapRounds {
    private let target: Int16
    private let caps: [String]
    private let isRetry: Bool
    private var left: [ExactText: [(key: Int64, value: [CapTaker.Delivery])]]
    /// What was asked for last.
    private var round: [(user: ExactText, event: Int64, deliveries: [CapTaker.Delivery])] = []
    /// The positions of deliveries for which a cap is full, by the answers so far.
    private(set) var full: [Int] = []

    init(_ deliveries: [CapTaker.Delivery], target: Int16, caps: [String], isRetry: Bool = false) {
        (self.target, self.caps, self.isRetry) = (target, caps, isRetry)
        left = Dictionary(grouping: deliveries) { ExactText($0.user) }.mapValues { deliveries in
            Dictionary(grouping: deliveries, by: \.event).sorted { $0.key < $1.key }
        }
    }

    /// The next question, to be followed by its answer; nil if there is none.
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

    /// Takes over who was granted what was asked for last.
    mutating func answered(_ users: [String]) {
        let granted = Set(users.map { ExactText($0) })
        for one in round where !granted.contains(one.user) { full += one.deliveries.map(\.position) }
    }
}
