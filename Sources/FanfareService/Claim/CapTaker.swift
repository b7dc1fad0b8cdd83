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

    /// Counts pairs, by user and event.
    ///
    /// - Parameters:
    ///   - pairs: which.
    ///   - connection: outside of a transaction, which would keep others waiting.
    /// - Returns: the positions of those for which a cap is full.
    /// - Throws: what the database says; what was counted by then stays so, and is granted again when it is asked for again.
    func full(_ pairs: [Pair], on connection: PostgresConnection) throws(PostgresError) -> [Int] {
        var left = Dictionary(grouping: pairs, by: \.user).mapValues { pairs in
            Dictionary(grouping: pairs, by: \.event).sorted { $0.key < $1.key }
        }
        var full: [Int] = []
        // One event of each user at a time.
        while !left.isEmpty {
            let round = left.compactMap { user, events in
                events.first.map { (user: user, event: $0.key, pairs: $0.value) }
            }
            let take = TakeCaps(target: target, caps: caps, users: round.map(\.user), events: round.map(\.event))
            let granted = Set(try connection.run(take))
            for one in round where !granted.contains(one.user) { full += one.pairs.map(\.position) }
            left = left.mapValues { Array($0.dropFirst()) }.filter { !$0.value.isEmpty }
        }
        return full
    }
}
