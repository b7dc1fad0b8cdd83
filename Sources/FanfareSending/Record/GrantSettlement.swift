internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The correction of grants against caps, for batches that were closed or given back.
///
/// If a daemon dies before it is written, the grants stay and count from the time when the batch was prepared.
struct GrantSettlement {
    private static let settings = SessionSettings([("enable_seqscan", "off")])

    /// The correcting statement.
    private let statement: SettleGrants

    /// Writes the correction.
    ///
    /// - Parameter connection: a connection in a transaction.
    /// - Throws: errors of the server.
    func run(on connection: PostgresConnection) throws(PostgresError) {
        // A cached plan from when the table was small would scan it completely for each delivery.
        try connection.setLocally(Self.settings)
        _ = try connection.runReturningCount(statement)
    }

    /// Creates the correction; nil if no rule of the batches has caps, or there is nothing to correct.
    ///
    /// - Parameters:
    ///   - batches: the batches that were to be closed or given back.
    ///   - done: the rows of the batches that this daemon still owned.
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

    /// The positions of deliveries whose grants are to be corrected, with the time at which they were sent, in
    /// milliseconds since 1970; nil if they were not sent.
    ///
    /// The time is that of the batch's last answer, which is later than each request, so that a cap never admits too
    /// much. If it is not after the time that the grants count from, the grants of sent deliveries are not corrected.
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
                .backlogDropped, .destinationForbidden, .heldOut, .quiet, .snoozed, .retracted, .heldQuiet,
                .heldSnoozed:
                return isFirst ? (position, nil) : nil
            default: return sentAt.map { (position, $0) }
            }
        }
    }
}
