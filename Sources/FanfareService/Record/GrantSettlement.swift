internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// What closed batches say about what their users were granted against caps.
///
/// A daemon that dies before it is written leaves what was granted: it counts from when the batch was prepared.
struct GrantSettlement {
    private static let settings = SessionSettings([("enable_seqscan", "off")])

    /// Corrects what was granted.
    private let statement: SettleGrants

    /// Corrects it.
    ///
    /// - Parameter connection: outside of a transaction.
    /// - Throws: what the database says.
    func run(on connection: PostgresConnection) throws(PostgresError) {
        try connection.transaction { connection throws(PostgresError) in
            // A plan that was made while the table was small reads all of it for each pair.
            try connection.setLocally(Self.settings)
            _ = try connection.runReturningCount(statement)
        }
    }

    /// Collects it; nil where no rule of them has caps, or nothing is to be corrected.
    ///
    /// - Parameters:
    ///   - batches: those that were to be closed.
    ///   - done: those that were ours.
    init?(of batches: [OpenBatch], _ done: [Recorded]) {
        let counted = batches.filter { !$0.batch.rule.compiled.definition.calm.caps.isEmpty }
        guard !counted.isEmpty else { return nil }
        let ours = done.batches
        var (events, devices, sentAt): ([Int64], [Int64], [Int64?]) = ([], [], [])
        for batch in counted where ours.contains(batch.id) {
            for (position, sent) in batch.settlements {
                events.append(batch.batch.claimed.eventID(at: position))
                devices.append(batch.batch.claimed.deviceIDs[position])
                sentAt.append(sent)
            }
        }
        guard !events.isEmpty else { return nil }
        statement = SettleGrants(events: events, devices: devices, sentAt: sentAt)
    }
}

extension OpenBatch {
    /// The positions of pairs whose grants are to be corrected, and when they were sent, in milliseconds since 1970; nil where they
    /// were not.
    ///
    /// By the last answer of the batch, which is later than each request: a cap never lets more through than it may.
    fileprivate var settlements: [(Int, Int64?)] {
        let isFirst = batch.claimed.history.attempts == 0 && batch.claimed.history.waits == 0
        return outcomes.indices.compactMap { position -> (Int, Int64?)? in
            let outcome = Outcome(rawValue: outcomes[position])
            switch outcome {
            case .capped, .pending: return nil
            case .expired, .expiredQuiet, .expiredSnoozed, .cancelled, .superseded, .disabled, .optedOut, .refused,
                .backlogDropped, .destinationForbidden, .heldOut, .quiet, .snoozed, .heldQuiet, .heldSnoozed:
                return isFirst ? (position, nil) : nil
            default: return answeredAt.map { (position, $0 / Micros.millisecond) }
            }
        }
    }
}
