internal import CoreMetrics
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore

/// Counts recorded outcomes: once per batch and outcome, by the daemon that closed the batch.
///
/// It is used by the recorder alone. Batches that expired unclaimed are not counted as pushes: the statement that ends
/// them does not return their targets.
struct RecordCounters {
    private let pipeline: PipelineCounters
    private var pushes: LabelledCounter
    private var failures: LabelledCounter
    private var disabled: LabelledCounter

    init(_ pipeline: PipelineCounters) {
        self.pipeline = pipeline
        let metrics = pipeline.metrics
        pushes = LabelledCounter(.pushes, by: ["app", "provider", "environment", "lane", "outcome"], metrics)
        failures = LabelledCounter(.pushFailures, by: ["app", "provider", "outcome", "reason"], metrics)
        disabled = LabelledCounter(.devicesDisabled, by: ["app", "environment", "reason"], metrics)
    }

    /// Counts the result of a committed statement.
    ///
    /// - Parameters:
    ///   - write: the statement.
    ///   - done: its rows.
    mutating func count(_ write: RecordLedger.Write, _ done: [Recorded]) {
        let pruned = done.pruned
        if !pruned.isEmpty { count(pruned: pruned, by: write.evidence.prunes, of: write.batchesByID) }
        guard case .close(let statement, _) = write else { return }
        let (ours, batches) = (done.batches, write.batchesByID)
        pipeline.closed(Int64(ours.count))
        for tally in statement.tallies where ours.contains(tally.batchID) {
            guard let batch = batches[tally.batchID]?.batch else { continue }
            let (target, outcome) = (batch.target, Outcome(rawValue: tally.outcome))
            pushes.add(
                tally.deliveries,
                target.app,
                target.provider,
                target.environment,
                batch.lane.name,
                outcome.metricLabel
            )
            guard outcome.isFailure else { continue }
            failures.add(tally.deliveries, target.app, target.provider, outcome.outcome, outcome.reason)
        }
    }

    private mutating func count(pruned devices: [Int64], by prunes: [Prune], of batches: [Int64: OpenBatch]) {
        let evidence = Dictionary(prunes.map { ($0.deviceID, $0) }) { first, _ in first }
        for device in devices {
            guard let prune = evidence[device], let batch = batches[prune.batchID]?.batch else { continue }
            disabled.add(1, batch.target.app, batch.homeEnvironment, prune.reason)
        }
    }
}

extension RecordLedger.Write {
    /// The batches of the statement, by id.
    fileprivate var batchesByID: [Int64: OpenBatch] {
        switch self {
        case .close(_, let batches), .checkpoint(_, let batches), .release(_, let batches):
            Dictionary(batches.map { ($0.id, $0) }) { $1 }
        }
    }

    /// The evidence about tokens in the statement.
    fileprivate var evidence: TokenEvidence {
        switch self {
        case .close(let statement, _): statement.evidence
        case .checkpoint(let statement, _): statement.evidence
        case .release(let statement, _): statement.evidence
        }
    }
}

extension Outcome {
    /// Whether the provider did not accept the push, or could not be reached.
    fileprivate var isFailure: Bool {
        switch kind {
        case .retrying: !isHeld
        case .gone, .rejected: true
        default: false
        }
    }

    /// The label of the outcome; a held delivery is not a failed attempt, although another one follows.
    fileprivate var metricLabel: String { isHeld ? "held" : outcome }
}
