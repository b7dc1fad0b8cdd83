internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Asks a rule's caps which pairs of a batch may be sent.
struct CapTaker {
    /// A pair that nothing else speaks against.
    struct Pair {
        /// In its batch.
        let position: Int
        let user: String
        let event: Int64
    }

    let target: Int16
    /// The caps' names.
    let caps: [String]
    /// Whether the batch's pairs were tried before.
    let isRetry: Bool

    /// Counts pairs, by user and event.
    ///
    /// - Parameters:
    ///   - pairs: which.
    ///   - connection: outside of a transaction, which would keep others waiting.
    /// - Returns: the positions of those for which a cap is full.
    /// - Throws: what the database says; what was counted by then stays so, and is granted again when it is asked for again.
    func full(_ pairs: [Pair], on connection: PostgresConnection) throws(PostgresError) -> [Int] {
        var rounds = CapRounds(pairs, target: target, caps: caps, isRetry: isRetry)
        while let take = rounds.next() { rounds.answered(try connection.run(take)) }
        return rounds.full
    }
}

/// The questions that a batch's pairs need, one after the other: one event of each user at a time.
struct CapRounds {
    private let target: Int16
    private let caps: [String]
    private let isRetry: Bool
    private var left: [ExactText: [(key: Int64, value: [CapTaker.Pair])]]
    /// What was asked for last.
    private var round: [(user: ExactText, event: Int64, pairs: [CapTaker.Pair])] = []
    /// The positions of pairs for which a cap is full, by the answers so far.
    private(set) var full: [Int] = []

    init(_ pairs: [CapTaker.Pair], target: Int16, caps: [String], isRetry: Bool = false) {
        (self.target, self.caps, self.isRetry) = (target, caps, isRetry)
        left = Dictionary(grouping: pairs) { ExactText($0.user) }.mapValues { pairs in
            Dictionary(grouping: pairs, by: \.event).sorted { $0.key < $1.key }
        }
    }

    /// The next question, to be followed by its answer; nil if there is none.
    mutating func next() -> TakeCaps? {
        guard !left.isEmpty else { return nil }
        round = left.compactMap { user, events in
            events.first.map { (user: user, event: $0.key, pairs: $0.value) }
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
        for one in round where !granted.contains(one.user) { full += one.pairs.map(\.position) }
    }
}
