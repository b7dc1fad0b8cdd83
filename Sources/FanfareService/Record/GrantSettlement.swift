internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// What batches that were closed or given back say about what their users were granted against caps.
///
/// A daemon that dies before it is written leaves what was granted: it counts from when the batch was prepared.
struct GrantSettlement {
    private static let settings = SessionSettings([("enable_seqscan", "off")])

    /// Corrects what was granted.
    private let statement: SettleGrants

    /// Corrects it.
    ///
    /// - Parameter connection: in a transaction.
    /// - Throws: what the database says.
    func run(on connection: PostgresConnection) throws(PostgresError) {
        // A plan that was made while the table was small reads all of it for each delivery.
        try connection.setLocally(Self.settings)
        _ = try connection.runReturningCount(statement)
    }

    /// Collects it; nil where no rule of them has caps, or nothing is to be corrected.
    ///
    /// - Parameters:
    ///   - batches: those that were to be closed, or given back.
    ///   - done: those that were ours.
    init?(of batches: [OpenBatch], _ done: [Recorded]) {
        let counted = batches.filter(\.hasCaps)
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
    /// Whether its rule has caps.
    var hasCaps: Bool { !batch.rule.compiled.definition.suppressions.caps.isEmpty }

    /// The positions of deliveries whose grants are to be corrected, and when they were sent, in milliseconds since 1970; nil where they
    /// were not.
    ///
    /// By the last answer of the batch, which is later than each request: a cap never lets more through than it may. None where that came
    /// before the time that the grants count from.
    fileprivate var settlements: [(Int, Int64?)] {
        let isFirst = !batch.claimed.wasTried
        let countsFrom = batch.begunAt + TakeCaps.ahead * Micros.millisecond
        let sentAt = answeredAt.flatMap { $0 <= countsFrom ? nil : $0 / Micros.millisecond }
        return outcomes.indices.compactMap { position -> (Int, Int64?)? in
            let outcome = Outcome(rawValue: outcomes[position])
            switch outcome {
            case .capped: return nil
            case .pending, .expired, .expiredQuiet, .expiredSnoozed, .cancelled, .aborted, .superseded, .disabled,
                .optedOut, .refused,
                .backlogDropped, .destinationForbidden, .heldOut, .quiet, .snoozed, .heldQuiet, .heldSnoozed:
                return isFirst ? (position, nil) : nil
            default: return sentAt.map { (position, $0) }
            }
        }
    }
}
