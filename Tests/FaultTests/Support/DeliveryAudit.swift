/// One push that is to reach one device: the number of the event in its payload, and the token.
struct Pair: Hashable {
    let event: Int
    let token: String
}

/// What the simulated provider says became of a request.
enum ReceivedFate: Equatable {
    case accepted
    /// Processed, and not answered.
    case unanswered
    /// The provider said that it did not process it.
    case notProcessed
    case rejected(Int)
}

/// Compares what was to be sent with what the provider received and with what the database says.
///
/// All are multisets of pairs; the provider's ledger is the witness, since no daemon can write it.
struct DeliveryAudit {
    private(set) var expected: Set<Pair> = []
    private(set) var unexpected: [Pair] = []
    private var accepted: [Pair: Int] = [:]
    private var delivered: [Pair: Int] = [:]
    /// Final outcomes by pair; a list, since two of them are a mistake.
    private var outcomes: [Pair: [String]] = [:]
    /// Tokens that the provider's answers allow to be disabled.
    var dead: Set<String> = []
    private(set) var wronglyPruned: Set<String> = []

    /// Notes what is to be sent.
    mutating func expect(event: Int, tokens: some Sequence<String>) {
        for token in tokens { expected.insert(Pair(event: event, token: token)) }
    }

    /// Notes a request in the ledger.
    mutating func receive(_ pair: Pair, _ fate: ReceivedFate) {
        guard expected.contains(pair) else {
            unexpected.append(pair)
            return
        }
        switch fate {
        case .accepted:
            accepted[pair, default: 0] += 1
            delivered[pair, default: 0] += 1
        case .unanswered: delivered[pair, default: 0] += 1
        case .notProcessed, .rejected: break
        }
    }

    /// Notes a final outcome in the database.
    mutating func record(_ pair: Pair, outcome: String) {
        guard expected.contains(pair) else {
            unexpected.append(pair)
            return
        }
        outcomes[pair, default: []].append(outcome)
    }

    /// Notes a disabled device.
    mutating func disabled(_ token: String) {
        if !dead.contains(token) { wronglyPruned.insert(token) }
    }

    /// Pairs that reached the provider.
    var sent: Int { delivered.count }

    /// Pairs that never reached the provider and whose outcome does not say so.
    var lost: [Pair] {
        expected.filter { pair in
            accepted[pair] == nil && !(outcomes[pair]?.contains { $0 != "accepted" } ?? false)
        }
    }

    /// Pairs without any final outcome.
    var unrecorded: [Pair] { expected.filter { outcomes[$0] == nil } }

    /// Pairs with more than one final outcome.
    var recordedTwice: [Pair] { outcomes.filter { $0.value.count > 1 }.map(\.key) }

    /// Pairs that the provider accepted while the database says something else.
    ///
    /// `unknown` is the honest word where no answer came.
    var contradicted: [Pair] {
        outcomes.filter { pair, outcomes in
            accepted[pair] != nil && outcomes.contains { $0 != "accepted" && $0 != "unknown" }
        }.map(\.key)
    }

    /// Requests beyond the first for the same pair, of those that the provider processed.
    var duplicates: Int { delivered.values.reduce(0) { $0 + $1 - 1 } }

    /// Those of them that came although the first one had been answered.
    var acceptedTwice: Int { accepted.values.reduce(0) { $0 + $1 - 1 } }

    /// How many pairs ended so.
    func count(_ outcome: String) -> Int { outcomes.values.filter { $0.contains(outcome) }.count }
}
